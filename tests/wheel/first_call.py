"""first_call.py [REFERENCE.npz]: the package in a fresh environment, beside any cv2 or none: first calls, not an import.

REFERENCE.npz is written if it is absent, else compared to the bit: labels and features of the shipped model."""

import os
import sys

import numpy

import mpm

cv2 = None
try:
    import cv2
except ImportError:
    pass
major = int(cv2.__version__.split(".")[0]) if cv2 else 0


def check(holds, text):
    if not holds:
        sys.exit("first_call: " + text)


def raised(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    sys.exit("first_call: no %s was raised" % kind.__name__)


model = mpm.Model("default")
path = model.path
frame = numpy.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=numpy.uint8).repeat(16, axis=0).repeat(16, axis=1)
result = model(frame)
check(result.labels.shape == (480, 640) and result.tokens[-1] < result.tokens[0], "the shipped model gives %r" % result)
for seen in model.stream("demo"):
    check(seen.overlay.shape == (480, 640, 3), "the street gives %r" % seen)
    break
if len(sys.argv) > 1:
    if os.path.exists(sys.argv[1]):
        with numpy.load(sys.argv[1]) as reference:
            check(numpy.array_equal(reference["labels"], result.labels), "the labels differ from the reference")
            check(numpy.array_equal(reference["features"], result.features), "the features differ from the reference")
    else:
        numpy.savez(sys.argv[1], labels=result.labels, features=result.features)

# The network's input: the frame, preprocessed as blobFromImage() does.
blob = numpy.ascontiguousarray((frame[..., ::-1].astype(numpy.float32) / 255 - 0.5).transpose(2, 0, 1)[None] / 0.5)
net = mpm.readNet(path)
net.setInput(blob)
out = numpy.array(net.forward())
check(out.shape[1:] == result.features.shape, "readNet() gives %s" % (out.shape,))
check(numpy.abs(out[0] - result.features).max() <= 1e-5 * max(1, numpy.abs(out).max()), "readNet() differs from the model")
names = net.getUnconnectedOutLayersNames()
check(numpy.array_equal(net.forward(names)[-1], out), "forward(names) differs from forward()")
mpm.configure(blocks=())
net.setInput(blob)
check(not numpy.array_equal(net.forward(), out), "configure() changes nothing")
mpm.configure()

if major == 4:
    mpm.register()
    other = cv2.dnn.readNetFromONNX(path)
    other.setInput(blob)
    check(numpy.array_equal(other.forward(), out), "a network of register() differs")
    check(type(net).__module__.startswith("cv2"), "readNet() gives a %s beside cv2 4" % type(net))
else:
    check("cv2" in raised(mpm.Error, mpm.register), "register() does not say why it cannot work")
    check(type(net).__module__ == "mpm.network", "readNet() gives a %s" % type(net))
shared = "libopencv_dnn" in open("/proc/self/maps").read()
if not shared:
    check("share" in raised(mpm.Error, lambda: mpm.register(native=True)) or not cv2, "native=True is no error")
print("first_call: cv2 %s, NumPy %s, Python %s" % (cv2.__version__ if cv2 else "none", numpy.__version__, sys.version.split()[0]))
