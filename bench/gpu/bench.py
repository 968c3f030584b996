#!/usr/bin/env python3
"""Parity and speed of libmpm_cuda beside PyTorch. Called by run.sh.

bench.py parity LIBRARY
bench.py time LIBRARY [--sizes small,base,large] [--images 32] [--tokens 1024] [--no-compile]
"""

import argparse
import statistics
import sys
import time

import numpy as np
import torch

from entry import Encoder
from peers import SIZES, TomeVit, Vit, picture_tokens, random_weights, reference

TOLERANCE = {"f32": 1e-4, "tf32": 5e-3, "bf16": 2e-2, "f16": 5e-3}
SCHEDULE = (2, 5)


def address(tensor):
    return tensor.data_ptr()


def device_run(encoder, tokens, output, schedule, **options):
    return encoder.run(address(tokens), address(output), tokens.shape[0], tokens.shape[1], schedule, **options)


# ---- parity ----------------------------------------------------------------------------------------------

def parity_case(library, size, precision, images, tokens, schedule):
    dim, heads, blocks = SIZES[size]
    weights = random_weights(dim, blocks)
    batch = picture_tokens(images, tokens + 1, dim)
    output = np.full_like(batch, np.nan)
    encoder = Encoder(library, weights, heads, blocks, precision)
    _, maps = encoder.run(batch.ctypes.data, output.ctypes.data, images, tokens + 1, schedule, on_device=False,
                          maps=True)
    encoder.close()
    vit = Vit(weights, heads, blocks).double().cuda()
    worst, alike, undecided, wrong = 0.0, 0, 0, 0
    for i in range(images):
        wanted, verdicts = reference(vit, torch.from_numpy(batch[i]).double().cuda(), schedule,
                                     [stage[i] for stage in maps])
        got = torch.from_numpy(output[i]).double().cuda()
        worst = max(worst, ((got - wanted).norm() / wanted.norm()).item())
        # Later stages see tokens that an earlier rounding has touched: only the first is decided in f64.
        alike += sum(v is True for v in verdicts[:1])
        undecided += sum(v is None for v in verdicts[:1])
        wrong += sum(v is False for v in verdicts[:1])
    good = worst < TOLERANCE[precision] and wrong == 0
    print(f"{size:6} {precision:5} {images:2} x {tokens:5} blocks {','.join(map(str, schedule)) or 'none':6} "
          f"error {worst:.1e}  first maps: {alike} equal, {undecided} undecided, {wrong} wrong  "
          f"{'ok' if good else 'FAILS'}", flush=True)
    return good


def parity(options):
    good = True
    for precision in TOLERANCE:
        for size, images, tokens, schedule in (("tiny", 3, 300, ()), ("tiny", 4, 300, (0, 2, 5)),
                                               ("tiny", 2, 1, (0,)), ("small", 4, 1024, SCHEDULE),
                                               ("base", 2, 1024, SCHEDULE), ("base", 1, 4096, (0, 2, 5))):
            good = parity_case(options.library, size, precision, images, tokens, schedule) and good
    print("all good" if good else "NOT GOOD")
    sys.exit(0 if good else 1)


# ---- time ------------------------------------------------------------------------------------------------

def median_ms(body, seconds=1.5):
    """Wall clock around a call that leaves the device idle, as all of these do."""
    for _ in range(3):
        body()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 10 or (time.perf_counter() < end and len(times) < 400):
        start = time.perf_counter()
        body()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def graphed(model, x):
    """One call of a model as a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)

    def replay():
        graph.replay()
        torch.cuda.synchronize()

    return replay


@torch.no_grad()
def peer_ms(model, x, compiled):
    """PyTorch's best: SDPA in a CUDA graph, as it is and compiled."""
    found = {"graph": median_ms(graphed(model, x))}
    if compiled:
        found["compile"] = median_ms(graphed(torch.compile(model, mode="max-autotune-no-cudagraphs"), x))
    return min(found.values()), " ".join(f"{k} {v:.2f}" for k, v in found.items())


def ours_ms(encoder, x, schedule, **options):
    output = torch.empty_like(x)
    torch.cuda.synchronize()
    return median_ms(lambda: device_run(encoder, x, output, schedule, **options))


def shares(encoder, x, schedule, whole):
    output = torch.empty_like(x)
    times = [device_run(encoder, x, output, schedule)[0] for _ in range(20)]
    merge = statistics.median(t.merge_ms for t in times)
    restore = statistics.median(t.restore_ms for t in times)
    return f"merge {merge:.3f} ms, restore {restore:.3f} ms: {(merge + restore) / whole:.1%} of the forward"


def time_precision(options, size, precision, x):
    dim, heads, blocks = SIZES[size]
    weights = random_weights(dim, blocks)
    encoder = Encoder(options.library, weights, heads, blocks, precision)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    vit = Vit(weights, heads, blocks).to("cuda", kind).eval()
    own = ours_ms(encoder, x, ())
    peer, detail = peer_ms(vit, x.to(kind), options.compile)
    label = f"{size} {precision} {x.shape[0]} x {x.shape[1] - 1}"
    print(f"{label}: all tokens {own:.2f} ms; PyTorch {peer:.2f} ms ({detail}); ratio {peer / own:.2f}", flush=True)

    merged = ours_ms(encoder, x, SCHEDULE)
    bound = ours_ms(encoder, x, SCHEDULE, read_counts=False)
    output = torch.empty_like(x)
    _, maps = device_run(encoder, x, output, SCHEDULE, maps=True)
    means = [round(statistics.mean(max(ids) + 1 for ids in stage)) for stage in maps]
    print(f"{label}: merged before {SCHEDULE} {merged:.2f} ms, {own / merged:.2f} times faster than all tokens; "
          f"never waiting for counts {bound:.2f} ms; tokens {x.shape[1] - 1}, {means[0]}, {means[1]}", flush=True)
    print(f"{label}: {shares(encoder, x, SCHEDULE, merged)}", flush=True)

    tokens = x.shape[1] - 1
    removed = {SCHEDULE[0]: tokens - means[0], SCHEDULE[1]: means[0] - means[1]}
    tome = TomeVit(weights, heads, blocks, removed).to("cuda", kind).eval()
    peer, detail = peer_ms(tome, x.to(kind), options.compile)
    print(f"{label}: ToMe in PyTorch at the same counts {peer:.2f} ms ({detail}); ratio {peer / merged:.2f}", flush=True)
    encoder.close()


def time_nearest(options):
    """One merge of N = 4,096, D = 768, and the f32 product rate of the device."""
    a = torch.randn(8192, 8192, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False

    def product():
        torch.mm(a, a)
        torch.cuda.synchronize()

    rate = 2 * 8192 ** 3 / median_ms(product) / 1e9
    dim, heads, _ = SIZES["base"]
    encoder = Encoder(options.library, random_weights(dim, 1), heads, 1, "bf16")
    x = torch.from_numpy(picture_tokens(8, 4097, dim)).cuda()
    output = torch.empty_like(x)
    merge = statistics.median(device_run(encoder, x, output, (0,))[0].merge_ms for _ in range(20)) / 8
    flops = 4096 * 4095 * dim
    print(f"nearest pass and all of the merge, N 4096, D 768, per image of 8: {merge:.3f} ms, "
          f"{flops / merge / 1e9:.1f} TFLOP/s; the device's f32 product {rate:.1f} TFLOP/s: "
          f"{flops / merge / 1e9 / rate:.0%}", flush=True)
    encoder.close()


def timings(options):
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    time_nearest(options)
    for size in options.sizes.split(","):
        x = torch.from_numpy(picture_tokens(options.images, options.tokens + 1, SIZES[size][0])).cuda()
        for precision in ("bf16", "f32"):
            time_precision(options, size, precision, x)
    for size in ("tiny", "base"):
        x = torch.from_numpy(picture_tokens(1, options.tokens + 1, SIZES[size][0])).cuda()
        time_precision(options, size, "bf16", x)


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
