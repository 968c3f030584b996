"""memory.py TINY.onnx [FRAMES=100000]: memory after the first thousand frames, through mpm.Model and through mpm.readNet(); then
a fiftieth as many frames of the shipped model. At most 1 MiB more."""

import os
import sys

import numpy

import mpm


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grows(name, step, frames, warm_up):
    for _ in range(warm_up):
        step()
    before = resident()
    for _ in range(frames - warm_up):
        step()
    grown = resident() - before
    print("memory: %s, %d frames: %+.2f MiB" % (name, frames, grown / 2**20), flush=True)
    if grown > 2**20:
        sys.exit("memory: %s grows" % name)


def use(model, frame):
    result = model(frame)
    return result.features, result.labels, result.map, result.tokens, result.times


tiny, frames = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
small = numpy.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=numpy.uint8)
blob = numpy.random.default_rng(2).standard_normal((1, 3, 32, 32), dtype=numpy.float32)
model, net = mpm.Model(tiny), mpm.readNet(tiny)


def forward():
    net.setInput(blob)
    return net.forward()


grows("mpm.Model", lambda: use(model, small), frames, 1000)
if type(net).__module__ == "mpm.network":  # cv2 4.x leaks memory at each call of a Python layer
    grows("mpm.readNet", forward, frames, 1000)
shipped, street = mpm.Model("default"), small.repeat(15, axis=0).repeat(20, axis=1)
grows("the shipped model", lambda: use(shipped, street), frames // 50, min(100, frames // 100))
