#!/usr/bin/env python3
"""Times a converted model in Python's cv2.dnn, with the layers of mpm.register() and with the C++ layers.

    PYTHONPATH=build/release/python bench/python_layers.py MODEL.mpm.onnx [SIZE=512x512] [ROUNDS=24]

Each kind of layer runs in a process of its own; the two take turns of five forwards.
"""
import statistics
import subprocess
import sys
import time


def forwards(kind, model, size):
    """Prints a line of milliseconds for each line of input."""
    import cv2
    import mpm
    import numpy

    mpm.register(native=kind == "native")
    net = cv2.dnn.readNetFromONNX(model)
    rows, columns = (int(side) for side in size.split("x"))
    blob = numpy.random.default_rng(1).standard_normal((1, 3, rows, columns), dtype=numpy.float32)
    for turn, _ in enumerate(sys.stdin):
        times = []
        for _ in range(3 if turn == 0 else 5):
            start = time.perf_counter()
            net.setInput(blob)
            net.forward()
            times.append(1e3 * (time.perf_counter() - start))
        print("times", statistics.median(times), flush=True)


def turn(process):
    process.stdin.write("\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("times "):
            return float(line.split()[1])
    raise SystemExit("python_layers.py: a process ended early")


def main(model, size="512x512", rounds="24"):
    processes = {
        kind: subprocess.Popen([sys.executable, __file__, "--forwards", kind, model, size], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for kind in ("native", "python")
    }
    for process in processes.values():
        turn(process)  # warms up
    times = {kind: [] for kind in processes}
    for k in range(int(rounds)):
        for kind in sorted(processes, reverse=k % 2 == 1):
            times[kind].append(turn(processes[kind]))
    for kind in processes:
        print(f"{kind:7} {statistics.median(times[kind]):8.2f} ms")
    overhead = statistics.median(p / n - 1 for n, p in zip(times["native"], times["python"]))
    print(f"overhead {100 * overhead:7.2f} %  (median of {rounds} pairs)")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__)
    forwards(*sys.argv[2:]) if sys.argv[1] == "--forwards" else main(*sys.argv[1:])
