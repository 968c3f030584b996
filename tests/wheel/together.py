"""together.py NAME,NAME... REFERENCE.npz: imports packages in this order into one process, then calls each of them and mpm. Packages
are taken from $MPM_PACKAGES too."""

import importlib
import os
import sys

import numpy

sys.path.append(os.environ["MPM_PACKAGES"])
names = sys.argv[1].split(",")
loaded = {name: importlib.import_module(name) for name in names}
frame = numpy.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=numpy.uint8).repeat(16, axis=0).repeat(16, axis=1)
mpm = loaded["mpm"]
for turn in range(2):
    result = mpm.Model("default")(frame)
    with numpy.load(sys.argv[2]) as reference:
        for name in ("labels", "features"):
            if not numpy.array_equal(reference[name], getattr(result, name)):
                sys.exit("together: other %s after import of %s" % (name, names))
    product = loaded["torch"].nn.Linear(3, 4)(loaded["torch"].ones(2, 3))
    blurred = loaded["cv2"].GaussianBlur(frame, (5, 5), 1)
    helper = loaded["onnx"].helper
    info = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    given = -numpy.ones((2, 3), numpy.float32)
    session = loaded["onnxruntime"].InferenceSession(model, providers=["CPUExecutionProvider"])
    ran = [session.run(None, {"x": given})[0]]
    core = loaded["openvino"].Core()
    ran.append(core.compile_model(core.read_model(model, b""), "CPU")(given)[0])
    if product.shape != (2, 4) or blurred.shape != frame.shape or any(numpy.any(out) for out in ran):
        sys.exit("together: a package works no more")
print("together: %s" % sys.argv[1])
