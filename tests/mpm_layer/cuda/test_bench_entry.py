"""bench/gpu/entry.py against NumPy, on the emulated GPU: its structures are those of the library's C entry."""

import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.environ["MPM_SOURCE_DIR"], "bench", "gpu"))
from entry import Encoder

DIM, HEADS, BLOCKS, ROWS = 64, 2, 2, 7


def random_weights():
    r = np.random.default_rng(3)
    weights = {}
    for i in range(BLOCKS):
        for name, depth, columns in (("qkv", DIM, 3 * DIM), ("proj", DIM, DIM), ("fc1", DIM, 96), ("fc2", 96, DIM)):
            weights[f"{i}.{name}.weight"] = r.standard_normal((depth, columns)) * depth ** -0.5
            weights[f"{i}.{name}.bias"] = r.standard_normal(columns) * 0.1
    for name in ("0.norm1", "0.norm2", "1.norm1", "1.norm2", "norm"):
        weights[name + ".weight"] = 1 + r.standard_normal(DIM) * 0.1
        weights[name + ".bias"] = r.standard_normal(DIM) * 0.1
    return {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}


def expected(weights, x):
    linear = lambda x, name: x @ weights[name + ".weight"] + weights[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-6)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    gelu = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))
    for i in range(BLOCKS):
        q, k, v = linear(norm(x, f"{i}.norm1"), f"{i}.qkv").reshape(ROWS, 3, HEADS, -1).transpose(1, 2, 0, 3)
        scores = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(DIM // HEADS))
        y = (scores / scores.sum(-1, keepdims=True)) @ v
        x = x + linear(y.transpose(1, 0, 2).reshape(ROWS, DIM), f"{i}.proj")
        x = x + linear(gelu(linear(norm(x, f"{i}.norm2"), f"{i}.fc1")), f"{i}.fc2")
    return norm(x, "norm")


def main():
    weights = random_weights()
    tokens = np.random.default_rng(4).standard_normal((1, ROWS, DIM)).astype(np.float32)
    output = np.full_like(tokens, np.nan)
    encoder = Encoder(os.environ["MPM_CUDA_LIBRARY"], weights, HEADS, BLOCKS, "f32")
    encoder.run(tokens.ctypes.data, output.ctypes.data, 1, ROWS, on_device=False)
    merged = np.empty_like(tokens)
    _, maps = encoder.run(tokens.ctypes.data, merged.ctypes.data, 1, ROWS, (1,), on_device=False, maps=True)
    encoder.close()
    wanted = expected({name: value.astype(np.float64) for name, value in weights.items()}, tokens[0].astype(np.float64))
    np.testing.assert_allclose(output[0], wanted, atol=2e-5)
    assert len(maps[0][0]) == ROWS - 1 and max(maps[0][0]) < ROWS - 2, maps


if __name__ == "__main__":
    main()
