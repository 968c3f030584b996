"""Measures times, and prints figures with their bars (required values)."""

import statistics
import time

import torch


def median_ms(body, seconds=1.5):
    """Returns the median wall-clock time of body(), which must leave the device idle."""
    for _ in range(3):
        body()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 10 or (time.perf_counter() < end and len(times) < 400):
        start = time.perf_counter()
        body()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def graphed(model, x):
    """Returns a function that runs a model as a CUDA graph."""
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
    """Returns PyTorch's best time in a CUDA graph, compiled or not."""
    found = {"graph": median_ms(graphed(model, x))}
    if compiled:
        found["compile"] = median_ms(graphed(torch.compile(model, mode="max-autotune-no-cudagraphs"), x))
    return min(found.values()), " ".join(f"{k} {v:.2f}" for k, v in found.items())


def run_on(encoder, x, output, schedule=(), **options):
    return encoder.run(x.data_ptr(), output.data_ptr(), x.shape[0], x.shape[1], schedule, **options)


def ours_ms(encoder, x, schedule=(), **options):
    output = torch.empty_like(x)
    torch.cuda.synchronize()
    return median_ms(lambda: run_on(encoder, x, output, schedule, **options))


class Table:
    """The measured figures, each with its bar if it has any."""

    def __init__(self):
        self.rows = []

    def add(self, what, figure, bar=None, unit="", least=True, detail=""):
        verdict = "" if bar is None else "pass" if (figure >= bar if least else figure <= bar) else "MISS"
        asked = "" if bar is None else f"{'>=' if least else '<='} {bar:g}{unit}"
        self.rows.append((what, f"{figure:.3g}{unit}", asked, verdict))
        print(f"{what}: {figure:.3g}{unit} {asked} {verdict} {detail}".rstrip(), flush=True)

    def show(self):
        widths = [max(len(row[i]) for row in self.rows) for i in range(4)]
        print()
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        missed = sum(row[3] == "MISS" for row in self.rows)
        asked = sum(bool(row[3]) for row in self.rows)
        print(f"{asked - missed} of {asked} bars passed")
