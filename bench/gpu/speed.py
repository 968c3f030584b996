"""Compares libmpm_cuda with all required values (bars), in a single run."""

import statistics
import threading
import time

import numpy as np
import torch

from ceilings import ceilings, shares_of_ceilings
from entry import Encoder
from peers import SIZES, Vit, algm, picture_tokens, random_weights, tome
from timing import Table, graphed, median_ms, ours_ms, peer_ms, run_on

SCHEDULE = (2, 5)
GAIN = {("base", "bf16"): 1.2, ("large", "bf16"): 1.35, ("base", "f32"): 1.35, ("large", "f32"): 1.58}
SHARE = {"base": 6, "large": 3}


def tokens_of(size, images, tokens):
    return torch.from_numpy(picture_tokens(images, tokens + 1, SIZES[size][0])).cuda()


def kind_of(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def mean_counts(encoder, x):
    """Returns the numbers of image tokens at the start and after each merge: means over images, then those of each image."""
    output = torch.empty_like(x)
    _, maps = run_on(encoder, x, output, SCHEDULE, maps=True)
    each = [[max(ids) + 1 for ids in stage] for stage in maps]
    return [x.shape[1] - 1] + [round(statistics.mean(stage)) for stage in each], each


def merge_share(encoder, x, whole):
    output = torch.empty_like(x)
    times = [run_on(encoder, x, output, SCHEDULE)[0] for _ in range(20)]
    merge, restore = (statistics.median(getattr(t, name) for t in times) for name in ("merge_ms", "restore_ms"))
    return 100 * (merge + restore) / whole, f"merge {merge:.3f} ms, restore {restore:.3f} ms"


def equal_maps(images, tokens, counts):
    """Returns maps of neighbours that leave `counts` tokens."""
    ids = np.concatenate([np.arange(tokens) * count // tokens for count in counts]).astype(np.int32)
    return np.ascontiguousarray(ids), np.array(counts, dtype=np.int32)


def against_peers(table, options, size, precision, x):
    dim, heads, blocks = SIZES[size]
    weights, kind, label = random_weights(dim, blocks), kind_of(precision), f"{size} {precision}"
    encoder = Encoder(options.library, weights, heads, blocks, precision)
    all_tokens = ours_ms(encoder, x)
    peer, detail = peer_ms(Vit(weights, heads, blocks).to("cuda", kind).eval(), x.to(kind), options.compile)
    table.add(f"{label}: all tokens, PyTorch's time over ours", peer / all_tokens, 1.0 if precision == "bf16" else None,
              detail=f"ours {all_tokens:.2f} ms, PyTorch {detail}")
    counts, each = mean_counts(encoder, x)
    merged = ours_ms(encoder, x, SCHEDULE)
    table.add(f"{label}: merged before {SCHEDULE}, gain over all tokens", all_tokens / merged,
              GAIN.get((size, precision)), detail=f"{merged:.2f} ms, tokens {counts}")
    for name, model in (("ToMe", tome(weights, heads, blocks, SCHEDULE, counts)),
                        ("ALGM", algm(weights, heads, blocks, counts))):
        peer, detail = peer_ms(model.to("cuda", kind).eval(), x.to(kind), options.compile)
        table.add(f"{label}: {name} in PyTorch at the same counts, its time over ours", peer / merged, 1.0, detail=detail)
    if precision == "bf16":
        share, detail = merge_share(encoder, x, merged)
        table.add(f"{label}: merge and restore", share, SHARE.get(size), " %", least=False, detail=detail)
        ragged(table, encoder, label, x, each[0])
        table.add(f"{label}: fixed kernels, their time over the usual",
                  ours_ms(encoder, x, SCHEDULE, fixed=True) / merged)
        shares_of_ceilings(lambda: run_on(encoder, x, torch.empty_like(x), SCHEDULE), size, x, counts, each,
                           options.ceilings, SCHEDULE)
    encoder.close()


def ragged(table, encoder, label, x, counts):
    """Compares images with unequal counts and images with equal counts of the same sum. The maps are given in both cases."""
    images, tokens = x.shape[0], x.shape[1] - 1
    least, more = divmod(sum(counts), images)
    equal = [least + (i < more) for i in range(images)]
    times = [ours_ms(encoder, x, imposed={0: equal_maps(images, tokens, c)}) for c in (counts, equal)]
    table.add(f"{label}: ragged batch, equal counts' time over its", times[1] / times[0], 0.95,
              detail=f"{min(counts)} to {max(counts)} tokens")


def latency(table, options, size):
    """Measures the latency of a single image."""
    dim, heads, blocks = SIZES[size]
    weights, x = random_weights(dim, blocks), tokens_of(size, 1, options.tokens)
    encoder = Encoder(options.library, weights, heads, blocks, "bf16")
    vit = Vit(weights, heads, blocks).to("cuda", torch.bfloat16).eval()
    with torch.no_grad():
        peer = median_ms(graphed(vit, x.bfloat16()))
    for name, schedule in (("all tokens", ()), ("merged", SCHEDULE)):
        own = ours_ms(encoder, x, schedule)
        table.add(f"{size} bf16, one image, {name}: PyTorch's CUDA graph over ours", peer / own, 1.0,
                  detail=f"ours {own:.3f} ms, PyTorch {peer:.3f} ms")
    encoder.close()


def ways_to_queue(table, options, size):
    """Compares the ways to queue at several batch sizes: kernel by kernel, as graphs, as graphs without reading counts."""
    dim, heads, blocks = SIZES[size]
    encoder = Encoder(options.library, random_weights(dim, blocks), heads, blocks, "bf16")
    for images in (1, 2, 4, 8, 32):
        x = tokens_of(size, images, options.tokens)
        ways = {"kernels": dict(graphs="never"), "graphs": dict(graphs="always"),
                "graphs, counts unread": dict(graphs="always", read_counts=False)}
        times = {name: ours_ms(encoder, x, SCHEDULE, **way) for name, way in ways.items()}
        best = min(times, key=times.get)
        table.add(f"{size} bf16, {images} images merged: kernels' time over graphs'", times["kernels"] / times["graphs"],
                  detail=", ".join(f"{k} {v:.3f} ms" for k, v in times.items()) +
                  f"; cheapest: {best}; {x.numel() / 2 ** 20:.1f} Mi values (graphs by default up to 4)")
    encoder.close()


def nearest(table, options):
    """Measures a whole merge of N = 4,096, D = 768: normalising, pairs, means."""
    dim, heads, _ = SIZES["base"]
    encoder = Encoder(options.library, random_weights(dim, 1), heads, 1, "bf16")
    x, images = tokens_of("base", 8, 4096), 8
    output = torch.empty_like(x)
    flops = 4096 * 4095 * dim
    for way in ("plain", "tensor"):
        merge = statistics.median(run_on(encoder, x, output, (0,), nearest=way)[0].merge_ms for _ in range(20)) / images
        rate = flops / merge / 1e9
        table.add(f"nearest pass ({way}) and all of the merge, N 4096, D 768, of the device's f32 product rate",
                  100 * rate / options.ceilings["f32"], 60 if way == "tensor" else None, " %",
                  detail=f"{merge:.3f} ms an image, {rate:.1f} TFLOP/s of {options.ceilings['f32']:.1f}")
    encoder.close()


def memory(table, options, precision):
    """Measures the memory of a forward of ViT-B over 16,384 tokens, without the weights."""
    dim, heads, blocks = SIZES["base"]
    x = tokens_of("base", 1, 16384)
    output = torch.empty_like(x)
    encoder = Encoder(options.library, random_weights(dim, blocks), heads, blocks, precision)
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    run_on(encoder, x, output, SCHEDULE)
    table.add(f"base {precision}, 16,384 tokens: memory beside weights and tokens",
              (before - torch.cuda.mem_get_info()[0]) / 2 ** 30, 2, " GiB", least=False)
    encoder.close()


def pipelined(table, options, size):
    """Runs batches from and to the host's memory, in a single thread and in two threads."""
    dim, heads, blocks = SIZES[size]
    encoder = Encoder(options.library, random_weights(dim, blocks), heads, blocks, "bf16")
    batch = picture_tokens(options.images, options.tokens + 1, dim)
    rounds = 12

    def work(count):
        output = np.empty_like(batch)
        for _ in range(count):
            encoder.run(batch.ctypes.data, output.ctypes.data, *batch.shape[:2], SCHEDULE, on_device=False)

    def rate(threads):
        work(2)
        crew = [threading.Thread(target=work, args=(rounds // threads,)) for _ in range(threads)]
        start = time.perf_counter()
        [t.start() for t in crew]
        [t.join() for t in crew]
        return rounds * options.images / (time.perf_counter() - start)

    one, two = rate(1), rate(2)
    table.add(f"{size} bf16 through host memory: two batches at a time over one", two / one,
              detail=f"{one:.0f} and {two:.0f} images a second")
    encoder.close()


def timings(options):
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    table = Table()
    # Measures memory first, because later runs would reuse memory that the library has already allocated.
    # Measures bf16 before f32, because f32 needs more memory.
    for precision in ("bf16", "f32"):
        memory(table, options, precision)
    options.ceilings = ceilings()
    nearest(table, options)
    for size in ("tiny", "base"):
        latency(table, options, size)
        ways_to_queue(table, options, size)
    for size in options.sizes.split(","):
        x = tokens_of(size, options.images, options.tokens)
        for precision in ("bf16", "f32"):
            against_peers(table, options, size, precision, x)
        pipelined(table, options, size)
    table.show()
