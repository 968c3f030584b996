"""Runs a converted model in OpenCV as a program would, with merging off and on; for Debian's Python, which has OpenCV.

    run_converted.py MODEL.onnx FOLDER OUTPUT...      FOLDER has input.npy and gets off.npz and on.npz

Prints the image tokens after the last block, with merging off and on.
"""
import sys

import mpm
import numpy as np


def main():
    path, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    net = mpm.readNet(path)
    for label, blocks in (("off", ()), ("on", None)):
        mpm.configure(blocks=blocks)
        net.setInput(np.load(f"{folder}/input.npy"))
        found = net.forward(names)
        np.savez(f"{folder}/{label}.npz", *found)
        reports = [report for report in mpm.report() if report["tokens"]]
        print(max((sum(report["tokens"][-1:]) for report in reports), default=0) if reports else 0)


main()
