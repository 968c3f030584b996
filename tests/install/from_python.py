# from_python.py LIBRARY MODEL: runs the layers with Debian's python3-opencv, through the C interface.
import ctypes
import sys

import cv2
import numpy

library, model = sys.argv[1:3]

mpm = ctypes.CDLL(library)
mpm.mpm_last_error.restype = ctypes.c_char_p
mpm.mpm_version.restype = ctypes.c_char_p
mpm.mpm_report_whole_ms.restype = ctypes.c_double

net = cv2.dnn.readNetFromONNX(model)
blob = numpy.random.default_rng(7).standard_normal((1, 3, 32, 32), dtype=numpy.float32)


def check(holds, what):
    if not holds:
        sys.exit("from_python: " + what + "; the library says: " + mpm.mpm_last_error().decode())


def forward(blocks):
    check(mpm.mpm_set_blocks(blocks) == 0, "mpm_set_blocks(%r) failed" % blocks)
    net.setInput(blob)
    return net.forward().copy()


def report(read, *arguments):
    count = read(*arguments, None, 0)
    check(count >= 0, "a report cannot be read")
    values = (ctypes.c_int * count)()
    check(read(*arguments, values, count) == count, "a report changed its length")
    return list(values)


check(mpm.mpm_report_images() == 0, "a report before the first forward")
everything = forward(b"none")
check(report(mpm.mpm_report_tokens, 0) == [16, 16, 16], "not all tokens run without a schedule")
merged = forward(b"1")
tokens = report(mpm.mpm_report_tokens, 0)
cluster = report(mpm.mpm_report_map, 0)
check(tokens[0] == 16 and 8 <= tokens[1] < 16 and tokens[2] == tokens[1], "tokens are %r" % tokens)
check(len(cluster) == 16 and set(cluster) == set(range(tokens[1])), "the map is %r" % cluster)
check(mpm.mpm_report_whole_ms() > 0, "the forward took no time")
check(numpy.isfinite(merged).all() and not numpy.array_equal(merged, everything), "merging changes nothing")
check(numpy.array_equal(forward(b"1"), merged), "two forwards differ")
check(numpy.array_equal(forward(b"none"), everything), "the schedule cannot be taken back")

# Wrong values must be rejected: at once or, if they depend on the network, at the next forward.
check(mpm.mpm_set_blocks(b"two") == -1 and mpm.mpm_last_error(), "'two' is taken for a block")
check(mpm.mpm_set_device(b"abacus") == -1 and mpm.mpm_last_error(), "'abacus' is taken for a device")
check(mpm.mpm_report_map(5, None, 0) == -1, "a sixth image has a map")
try:
    forward(b"99")
    check(False, "a model of three blocks merges before block 99")
except cv2.error as error:
    check("99" in str(error), "the message does not name the block: " + str(error))
print("from_python:", mpm.mpm_version().decode(), tokens)
