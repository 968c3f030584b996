"""Measures the highest rates of a device, and the shares of these rates that each kernel of a forward reaches."""

import torch

from peers import SIZES
from timing import median_ms


def ceilings():
    """Returns TFLOP/s of products in f32 and bf16, and TB/s of a copy (bytes read plus bytes written)."""
    found = {}
    torch.backends.cuda.matmul.allow_tf32 = False
    for name, kind in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        a = torch.randn(8192, 8192, device="cuda").to(kind)

        def product():
            torch.mm(a, a)
            torch.cuda.synchronize()

        found[name] = 2 * 8192 ** 3 / median_ms(product) / 1e9
    source = torch.empty(2 ** 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)

    def copy():
        target.copy_(source)
        torch.cuda.synchronize()

    found["copy"] = 2 * 2 ** 30 / median_ms(copy) / 1e9
    print(f"ceilings: f32 {found['f32']:.1f} TFLOP/s, bf16 {found['bf16']:.1f} TFLOP/s, copy {found['copy']:.2f} TB/s",
          flush=True)
    return found


def work(size, x, each, schedule):
    """Returns {part of a kernel's name: (bf16 operations, f32 operations, bytes)} of a merged forward in bf16.
    "products" are cuBLASLt's kernels, which have many names. Bytes are the fewest that must be moved."""
    dim, _, blocks = SIZES[size]
    images, tokens = x.shape[0], x.shape[1] - 1
    counts = [[tokens] * images] + each  # image tokens of each image: all, then after each merge
    of_block = [counts[sum(b <= i for b in schedule)] for i in range(blocks)]
    rows = [sum(c) + images for c in of_block]
    values = sum(rows) * dim
    entering = sum(sum(c) for c in counts[:-1]) * dim
    leaving = sum(sum(c) for c in counts[1:]) * dim
    restored = images * (tokens + 1) * dim
    return {
        "products": (2 * 12 * dim * values, 0, 0),
        "attendKernel": (sum(4 * (n + 1) ** 2 * dim for c in of_block for n in c), 0, 2 * 4 * values),
        "layerNormKernel": (0, 0, 2 * values * (4 + 2)),
        "activateKernel": (0, 0, 4 * values * 2 * 2),
        "normaliseKernel": (0, 0, entering * (4 + 6)),
        "nearestTensorKernel": (6 * sum(n * (n - 1) * dim for c in counts[:-1] for n in c), 0, 0),
        "mergeKernel": (0, 0, 4 * (entering + leaving)),
        "restoreKernel": (0, 0, 4 * (sum(rows[-1:]) * dim + restored)),
    }


def part_of(name, parts):
    for part in parts:
        if part in name:
            return part
    lower = name.lower()
    # Recognises cuBLASLt's kernels by words that the names of all its versions contain.
    return "products" if any(word in lower for word in ("gemm", "nvjet", "cutlass", "cublas", "splitk")) else "the rest"


def shares_of_ceilings(forward, size, x, counts, each, limits, schedule):
    forward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        forward()
        torch.cuda.synchronize()
    parts, times = work(size, x, each, schedule), {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith("Mem"):
            part = part_of(event.name, parts)
            times[part] = times.get(part, 0) + event.time_range.elapsed_us() / 1e3
    if not times:
        print(f"{size}: the profiler saw no kernel of the library", flush=True)
        return
    whole = sum(times.values())
    for part, ms in sorted(times.items(), key=lambda item: -item[1]):
        bf16, f32, moved = parts.get(part, (0, 0, 0))
        reached = []
        if bf16:
            reached.append(f"{bf16 / ms / 1e9:.0f} TFLOP/s, {bf16 / ms / 1e9 / limits['bf16']:.0%} of bf16 products")
        if f32:
            reached.append(f"{f32 / ms / 1e9:.0f} TFLOP/s, {f32 / ms / 1e9 / limits['f32']:.0%} of f32 products")
        if moved:
            reached.append(f"{moved / ms / 1e9:.2f} TB/s, {moved / ms / 1e9 / limits['copy']:.0%} of a copy")
        print(f"    {part:20} {ms:8.3f} ms {ms / whole:6.1%}  {'; '.join(reached)}", flush=True)
