#!/usr/bin/env python3
"""Compares the results and the speed of libmpm_cuda with PyTorch. Called by run.sh.

bench.py parity LIBRARY
bench.py time LIBRARY [--sizes small,base,large] [--images 32] [--tokens 1024] [--no-compile]
"""

import argparse
import sys

import numpy as np
import torch

from entry import Encoder
from peers import SIZES, Vit, picture_tokens, random_weights, reference
from speed import SCHEDULE, timings
from timing import run_on

TOLERANCE = {"f32": 1e-4, "tf32": 5e-3, "bf16": 2e-2, "f16": 5e-3}


def parity_case(library, size, precision, images, tokens, schedule):
    dim, heads, blocks = SIZES[size]
    weights = random_weights(dim, blocks)
    batch = picture_tokens(images, tokens + 1, dim)
    output = np.full_like(batch, np.nan)
    encoder = Encoder(library, weights, heads, blocks, precision)
    _, maps = encoder.run(batch.ctypes.data, output.ctypes.data, images, tokens + 1, schedule, on_device=False,
                          maps=True)
    other = other_ways(encoder, batch, output, schedule)
    encoder.close()
    vit = Vit(weights, heads, blocks).double().cuda()
    worst, alike, undecided, wrong = 0.0, 0, 0, 0
    # Checks only the first map, because each merge rounds the tokens of later maps. Blocks in half precision
    # round tokens too, so checks the first map only in f32, or if tokens merge before block 0.
    judged = 1 if precision == "f32" or schedule[:1] == (0,) else 0
    for i in range(images):
        wanted, verdicts = reference(vit, torch.from_numpy(batch[i]).double().cuda(), schedule,
                                     [stage[i] for stage in maps])
        got = torch.from_numpy(output[i]).double().cuda()
        worst = max(worst, ((got - wanted).norm() / wanted.norm()).item())
        alike += sum(v is True for v in verdicts[:judged])
        undecided += sum(v is None for v in verdicts[:judged])
        wrong += sum(v is False for v in verdicts[:judged])
        # If there is a verdict, the plain f32 kernel must find the same map as the tensor cores.
        wrong += sum(v is True and other["maps"][0][i] != maps[0][i] for v in verdicts[:1])
    good = worst < TOLERANCE[precision] and wrong == 0 and other["same bits"]
    print(f"{size:6} {precision:5} {images:2} x {tokens:5} blocks {','.join(map(str, schedule)) or 'none':6} "
          f"error {worst:.1e}  first maps: {alike} equal, {undecided} undecided, {wrong} wrong  "
          f"device memory {'same bits' if other['same bits'] else 'OTHER BITS'}  {'ok' if good else 'FAILS'}", flush=True)
    return good


def other_ways(encoder, batch, output, schedule):
    """Runs the batch from and to the device's memory, then with the plain nearest pass, and returns that pass's maps."""
    x = torch.from_numpy(batch).cuda()
    restored = torch.empty_like(x)
    run_on(encoder, x, restored, schedule)
    same = torch.equal(restored.cpu(), torch.from_numpy(output))
    _, maps = run_on(encoder, x, restored, schedule, nearest="plain", maps=True)
    return {"same bits": same, "maps": maps}


def parity(options):
    good = True
    for precision in TOLERANCE:
        for size, images, tokens, schedule in (("tiny", 3, 300, ()), ("tiny", 4, 300, (0, 2, 5)),
                                               ("tiny", 2, 1, (0,)), ("small", 4, 1024, SCHEDULE),
                                               ("base", 2, 1024, SCHEDULE), ("base", 1, 4096, (0, 2, 5))):
            good = parity_case(options.library, size, precision, images, tokens, schedule) and good
    print("all good" if good else "NOT GOOD")
    sys.exit(0 if good else 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("parity", "time"))
    parser.add_argument("library")
    parser.add_argument("--sizes", default="small,base,large")
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    options = parser.parse_args()
    {"parity": parity, "time": timings}[options.what](options)


if __name__ == "__main__":
    main()
