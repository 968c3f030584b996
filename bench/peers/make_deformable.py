"""Exports a layer of a pixel decoder's deformable attention as exporters write it, a GridSample for each level, for
`peer.py onnxruntime`. bench/deformable_bench.cpp times the same layer.

    make_deformable.py OUT.onnx [SIDE=512] [CHANNELS=256]

Needs python3-onnx and python3-numpy."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS, POINTS = 8, 4


def make(side, channels):
    sizes = [side // 8, side // 16, side // 32]
    levels, queries = len(sizes), sum(s * s for s in sizes)
    nodes, constants, count = [], [], 0

    def node(op, inputs, outputs=1, **attributes):
        nonlocal count
        names = [f"v{count + k}" for k in range(outputs)]
        count += outputs
        nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(value, kind=np.int64):
        name = f"c{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def reshape(x, *shape):
        return node("Reshape", [x, constant(shape)])

    places = [((i % s + 0.5) / s, (i // s + 0.5) / s) for s in sizes for i in range(s * s)]
    reference = constant(np.asarray(places).reshape(1, queries, 1, 1, 1, 2), np.float32)
    normaliser = constant(np.asarray([[s, s] for s in sizes]).reshape(1, 1, 1, levels, 1, 2), np.float32)
    offsets = reshape("offsets", 1, queries, HEADS, levels, POINTS, 2)
    places = node("Add", [node("Div", [offsets, normaliser]), reference])
    grids = node("Sub", [node("Mul", [places, constant(2, np.float32)]), constant(1, np.float32)])
    weights = node("Softmax", [reshape("logits", 1, queries, HEADS, levels * POINTS)], axis=-1)
    weights = node("Transpose", [weights], perm=[0, 2, 1, 3])
    weights = reshape(weights, HEADS, 1, queries, levels * POINTS)
    value = reshape("value", 1, queries, HEADS, channels // HEADS)
    parts = node("Split", [value, constant([s * s for s in sizes])], outputs=levels, axis=1)
    sampled = []
    for level, size in enumerate(sizes):
        part = node("Transpose", [reshape(parts[level], 1, size * size, channels)], perm=[0, 2, 1])
        part = reshape(part, HEADS, channels // HEADS, size, size)
        grid = node("Gather", [grids, constant(level)], axis=3)
        grid = reshape(node("Transpose", [grid], perm=[0, 2, 1, 3, 4]), HEADS, queries, POINTS, 2)
        part = node("GridSample", [part, grid], mode="bilinear", padding_mode="zeros", align_corners=0)
        sampled.append(node("Unsqueeze", [part, constant([-2])]))
    sampled = reshape(node("Concat", sampled, axis=-2), HEADS, channels // HEADS, queries, levels * POINTS)
    sums = node("ReduceSum", [node("Mul", [sampled, weights]), constant([-1])], keepdims=0)
    nodes.append(
        helper.make_node("Transpose", [reshape(sums, 1, channels, queries)], ["out"], perm=[0, 2, 1]))

    def port(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    samples = HEADS * levels * POINTS
    graph = helper.make_graph(
        nodes, "deformable",
        [port("value", 1, queries, channels), port("offsets", 1, queries, samples * 2),
         port("logits", 1, queries, samples)],
        [port("out", 1, queries, channels)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[2:]]
    onnx.save(make(*(numbers + [512, 256][len(numbers):])), sys.argv[1])
