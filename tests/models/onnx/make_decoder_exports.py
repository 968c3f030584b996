#!/usr/bin/env python3
"""Small vision transformers with random weights under an adapter and a Mask2Former decoder, in the format of
make_exports.py, whose tests read them.

    make_decoder_exports.py [--opset N] OUT_DIR [NAME...]

The decoders are written from their published equations, without the original code: deformable attention by grid_sample,
cross-attention masked by the masks of the layer before. Sampling offsets are not zero, as they would hide mistakes.
"""
import os
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import torch
import torch.nn as nn
import torch.nn.functional as F

import make_exports
from make_exports import DIM, PATCH, SIZE, Vit, blocks

HEADS, POINTS = 4, 4


def centres(sizes):
    """[sum of rows * columns, x and y in 0..1]"""
    places = []
    for rows, columns in sizes:
        y, x = torch.meshgrid((torch.arange(rows) + 0.5) / rows, (torch.arange(columns) + 0.5) / columns, indexing="ij")
        places.append(torch.stack([x.flatten(), y.flatten()], -1))
    return torch.cat(places)


class Deformable(nn.Module):
    """Queries sample places of each level's map. `style`: how the levels are written."""

    def __init__(self, levels, value_dim=DIM, style="stack", heads=HEADS):
        super().__init__()
        self.levels, self.style, self.heads = levels, style, heads
        samples = heads * levels * POINTS
        self.value, self.out = nn.Linear(DIM, value_dim), nn.Linear(value_dim, DIM)
        self.offsets, self.weights = nn.Linear(DIM, samples * 2), nn.Linear(DIM, samples)
        nn.init.normal_(self.offsets.bias, 0, 2)

    def forward(self, query, reference, source, sizes):
        b, count, _ = query.shape
        h, levels = self.heads, self.levels
        value = self.value(source).view(b, source.shape[1], h, -1)
        offsets = self.offsets(query).view(b, count, h, levels, POINTS, 2)
        weights = self.weights(query).view(b, count, h, levels * POINTS).softmax(-1)
        weights = weights.view(b, count, h, levels, POINTS)
        extent = torch.tensor([[columns, rows] for rows, columns in sizes], dtype=torch.float32)
        places = reference[None, :, None, None, None] + offsets / extent[None, None, None, :, None]
        if self.style == "loop":
            sampled = self.one_by_one(value, places, weights, sizes)
        else:
            sampled = self.stacked(value, places, weights, sizes)
        return self.out(sampled)

    @staticmethod
    def stacked(value, places, weights, sizes):
        b, _, h, d = value.shape
        _, count, _, levels, points, _ = places.shape
        parts = value.split([rows * columns for rows, columns in sizes], dim=1)
        grids = 2 * places - 1
        sampled = []
        for level, (rows, columns) in enumerate(sizes):
            part = parts[level].flatten(2).transpose(1, 2).reshape(b * h, d, rows, columns)
            grid = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
            sampled.append(F.grid_sample(part, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
        weights = weights.transpose(1, 2).reshape(b * h, 1, count, levels * points)
        sums = (torch.stack(sampled, dim=-2).flatten(-2) * weights).sum(-1).view(b, h * d, count)
        return sums.transpose(1, 2).contiguous()

    @staticmethod
    def one_by_one(value, places, weights, sizes):
        """Another order of the same steps: slices, permutations, samples joined along the points."""
        b, _, h, d = value.shape
        _, count, _, levels, points, _ = places.shape
        grids, start, sampled = (places - 0.5) * 2, 0, []
        for level, (rows, columns) in enumerate(sizes):
            part = value[:, start:start + rows * columns].permute(0, 2, 3, 1).reshape(b * h, d, rows, columns)
            grid = grids[:, :, :, level].permute(0, 2, 1, 3, 4).reshape(b * h, count, points, 2)
            sampled.append(F.grid_sample(part, grid, align_corners=False))
            start += rows * columns
        weights = weights.permute(0, 2, 1, 3, 4).reshape(b * h, 1, count, levels * points)
        sums = (weights * torch.cat(sampled, -1)).sum(-1)
        return sums.view(b, h, d, count).permute(0, 3, 1, 2).reshape(b, count, h * d)


def rows_of(maps):
    return torch.cat([m.flatten(2).transpose(1, 2) for m in maps], 1)


def maps_of(rows, sizes):
    parts = rows.split([r * c for r, c in sizes], dim=1)
    return [part.transpose(1, 2).reshape(part.shape[0], -1, r, c) for part, (r, c) in zip(parts, sizes)]


class Adapter(Vit):
    """DINOv3's adapter: a pyramid of convolutions collects from taps of the encoder, without injectors."""

    def __init__(self, block, style="stack", value_dim=DIM // 2, **options):
        super().__init__(block, taps=(1, 3, 4, 6), **options)
        self.sizes = [(SIZE[0] // s, SIZE[1] // s) for s in (PATCH // 2, PATCH, 2 * PATCH)]
        self.stem = nn.ModuleList([nn.Conv2d(3, DIM, 8, 4, 2), nn.Conv2d(DIM, DIM, 3, 2, 1), nn.Conv2d(DIM, DIM, 3, 2, 1)])
        self.level = nn.Parameter(torch.randn(3, DIM))
        self.query = nn.ModuleList([nn.LayerNorm(DIM) for _ in self.taps])
        self.source = nn.ModuleList([nn.LayerNorm(DIM) for _ in self.taps])
        self.collect = nn.ModuleList([Deformable(1, value_dim, style) for _ in self.taps])
        self.register_buffer("places", centres(self.sizes))

    def pyramid(self, tapped, image):
        maps = []
        for conv in self.stem:
            image = conv(image)
            maps.append(image)
        c = torch.cat([m.flatten(2).transpose(1, 2) + self.level[k] for k, m in enumerate(maps)], 1)
        for tap, query, source, collect in zip(tapped, self.query, self.source, self.collect):
            c = c + collect(query(c), self.places, source(tap[:, self.special:]), [self.grid])
        return c

    def decode(self, x, tapped, image):
        return self.pyramid(tapped, image)


class Injected(Adapter):
    """ViT-Adapter: before each stage of blocks the pyramid is injected into the tokens, after it they are collected.
    Merged tokens are restored in between, and averaged by the same map before the next stage. A class token stays out
    of it (EVA)."""

    def __init__(self, block, style="stack", special=0, **options):
        super().__init__(block, style, value_dim=DIM, special=special, **options)
        self.token = nn.ModuleList([nn.LayerNorm(DIM) for _ in self.taps])
        self.pyramid_norm = nn.ModuleList([nn.LayerNorm(DIM) for _ in self.taps])
        self.inject = nn.ModuleList([Deformable(3, DIM, style) for _ in self.taps])
        self.gamma = nn.ParameterList([nn.Parameter(torch.randn(DIM) * 0.2) for _ in self.taps])
        self.register_buffer("own", centres([self.grid]))
        self.up, self.norms = nn.ConvTranspose2d(DIM, DIM, 2, 2), nn.ModuleList([nn.BatchNorm2d(DIM) for _ in range(4)])

    def run(self, image, schedule=()):
        x, c = self.embed(image), image
        maps = []
        for conv in self.stem:
            c = conv(c)
            maps.append(c)
        c = torch.cat([m.flatten(2).transpose(1, 2) + self.level[k] for k, m in enumerate(maps)], 1)
        stream, first, outs = make_exports.Tokens(x, self.special, schedule), 0, []
        for stage, last in enumerate(self.taps):
            restored = stream.restored()
            cls, whole = restored[:, :self.special], restored[:, self.special:]
            whole = whole + self.gamma[stage] * self.inject[stage](self.token[stage](whole), self.own, self.pyramid_norm[stage](c), self.sizes)
            whole = self.averaged(whole, stream.map)
            stream.x = torch.cat([cls, whole], 1) if self.special else whole
            for k in range(first, last + 1):
                stream.before(k)
                stream.x = self.blocks[k](stream.x, stream)
            whole = stream.restored()[:, self.special:]
            c = c + self.collect[stage](self.query[stage](c), self.places, self.source[stage](whole), [self.grid])
            outs.append(whole)
            first = last + 1
        return self.fused(c, outs), stream.map

    def fused(self, c, outs):
        """Maps at 1/4 to 1/16: the pyramid and the tokens of each stage, resized."""
        maps = maps_of(c, self.sizes)
        maps = [self.up(maps[0])] + maps
        tokens = [maps_of(rows, [self.grid])[0] for rows in outs]
        resized = [F.interpolate(t, size=m.shape[2:], mode="bilinear", align_corners=False) if t.shape != m.shape else t
                   for t, m in zip(tokens, maps)]
        return tuple(norm(m + t) for norm, m, t in zip(self.norms, maps, resized))

    @staticmethod
    def averaged(rows, ids):
        if ids is None:
            return rows
        count = int(ids.max()) + 1
        mean = torch.zeros(count, rows.shape[2]).index_add_(0, ids, rows[0]) / torch.bincount(ids)[:, None]
        return mean[None]


class PixelDecoder(nn.Module):
    """Deformable self-attention over three levels, norms behind."""

    def __init__(self, sizes, layers=2, style="stack"):
        super().__init__()
        self.sizes = sizes
        self.project = nn.ModuleList([nn.Sequential(nn.Conv2d(DIM, DIM, 1), nn.GroupNorm(4, DIM)) for _ in sizes])
        self.attend = nn.ModuleList([Deformable(len(sizes), DIM, style) for _ in range(layers)])
        self.norm1 = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(layers)])
        self.mlp = nn.ModuleList([nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, DIM)) for _ in range(layers)])
        self.norm2 = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(layers)])
        self.register_buffer("places", centres(sizes))
        self.register_buffer("position", torch.sin(torch.arange(DIM) * 0.7 + 9 * self.places.sum(-1, keepdim=True)))
        self.fine = nn.Conv2d(DIM, DIM, 3, 1, 1)

    def forward(self, maps):
        x = rows_of([project(m) for project, m in zip(self.project, maps)])
        for attend, norm1, mlp, norm2 in zip(self.attend, self.norm1, self.mlp, self.norm2):
            x = norm1(x + attend(x + self.position, self.places, x, self.sizes))
            x = norm2(x + mlp(x))
        maps = maps_of(x, self.sizes)
        fine = F.interpolate(maps[0], scale_factor=2.0, mode="bilinear", align_corners=False)
        return maps, self.fine(fine)


class PixelDecoded(Adapter):
    def __init__(self, block, style="stack", **options):
        super().__init__(block, style, **options)
        self.pixels = PixelDecoder(self.sizes, style=style)

    def decode(self, x, tapped, image):
        maps, fine = self.pixels(maps_of(self.pyramid(tapped, image), self.sizes))
        return (fine, *maps)


class MaskLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cross, self.self_ = (nn.MultiheadAttention(DIM, HEADS, batch_first=True) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, DIM))
        self.norms = nn.ModuleList([nn.LayerNorm(DIM) for _ in range(3)])

    def forward(self, q, position, source, places, mask):
        q = self.norms[0](q + self.cross(q + position, source + places, source, attn_mask=mask, need_weights=False)[0])
        q = self.norms[1](q + self.self_(q + position, q + position, q, need_weights=False)[0])
        return self.norms[2](q + self.mlp(q))


class Mask2Former(PixelDecoded):
    """Queries read the levels in turn, inside the mask of the last layer."""

    def __init__(self, block, style="stack", guard="index", queries=6, classes=5, **options):
        super().__init__(block, style, **options)
        self.guard = guard
        self.queries, self.position = nn.Parameter(torch.randn(1, queries, DIM)), nn.Parameter(torch.randn(1, queries, DIM))
        self.layers = nn.ModuleList([MaskLayer() for _ in range(4)])
        self.last, self.classes = nn.LayerNorm(DIM), nn.Linear(DIM, classes + 1)
        self.embed_masks = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, DIM))
        self.register_buffer("where", torch.cos(torch.arange(DIM) * 0.5 + 7 * self.pixels.places.sum(-1, keepdim=True)))

    def predict(self, q, fine):
        q = self.last(q)
        return self.classes(q), torch.einsum("bqc,bchw->bqhw", self.embed_masks(q), fine)

    def mask_of(self, masks, size):
        masks = F.interpolate(masks, size=size, mode="bilinear", align_corners=False)
        hidden = (masks.sigmoid().flatten(2).unsqueeze(1).repeat(1, HEADS, 1, 1).flatten(0, 1) < 0.5).bool().detach()
        if self.guard == "index":
            hidden[torch.where(hidden.sum(-1) == hidden.shape[-1])] = False
        else:
            hidden = hidden & (hidden.sum(-1, keepdim=True) != hidden.shape[-1])
        return hidden

    def decode(self, x, tapped, image):
        maps, fine = self.pixels(maps_of(self.pyramid(tapped, image), self.sizes))
        q = self.queries.expand(image.shape[0], -1, -1)
        places = self.where.split([r * c for r, c in self.sizes])
        classes, masks = self.predict(q, fine)
        for k, layer in enumerate(self.layers):
            level = 2 - k % 3
            mask = self.mask_of(masks, self.sizes[level])
            source = maps[level].flatten(2).transpose(1, 2)
            q = layer(q, self.position, source, places[level], mask)
            classes, masks = self.predict(q, fine)
        return classes, masks


def as_dynamo(path):
    """Rewrites an export as the dynamo exporter of PyTorch 2 writes it before optimisation: opset 20, where GridSample's mode
    is linear and reductions have their axes as an input; sequences for splits and stacks."""
    proto = onnx.load(path)
    nodes, made = proto.graph.node, {o: n for n in proto.graph.node for o in n.output}
    constants = []

    def attribute(node, name):
        return next((onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name), None)

    def constant(value, name):
        constants.append(onnx.numpy_helper.from_array(np.array(value), name))
        return name

    def stacked(node):
        parts = [made.get(value) for value in node.input]
        axes = [None if part is None or part.op_type != "Unsqueeze" else onnx.numpy_helper.to_array(attribute(made[part.input[1]], "value"))
                for part in parts if part is None or part.op_type != "Unsqueeze" or part.input[1] in made]
        same = len(axes) == len(parts) and all(a is not None and a.tolist() == axes[0].tolist() and a.size == 1 for a in axes)
        return (parts, int(axes[0].item())) if same else None

    for node in list(nodes):
        at = list(nodes).index(node)
        if node.op_type == "GridSample":
            mode = next(a for a in node.attribute if a.name == "mode")
            mode.s = b"linear"
        elif node.op_type in ("ReduceMean", "ReduceMax", "ReduceL2") and attribute(node, "axes") is not None:
            axes = attribute(node, "axes")
            del node.attribute[next(k for k, a in enumerate(node.attribute) if a.name == "axes")]
            node.input.append(constant(axes, node.output[0] + ".axes"))
        elif node.op_type == "Concat" and stacked(node):
            parts, axis = stacked(node)
            listed = node.output[0] + ".list"
            nodes.remove(node)
            nodes.insert(at, onnx.helper.make_node("ConcatFromSequence", [listed], list(node.output), axis=axis, new_axis=1))
            nodes.insert(at, onnx.helper.make_node("SequenceConstruct", [part.input[0] for part in parts], [listed]))
        elif node.op_type == "Split":
            listed = node.output[0] + ".list"
            picks = [onnx.helper.make_node("SequenceAt", [listed, constant(k, f"{piece}.at")], [piece])
                     for k, piece in enumerate(node.output)]
            nodes.remove(node)
            for pick in reversed(picks):
                nodes.insert(at, pick)
            nodes.insert(at, onnx.helper.make_node("SplitToSequence", list(node.input), [listed], axis=attribute(node, "axis")))
    proto.graph.initializer.extend(constants)
    proto.opset_import[0].version = 20
    onnx.save(proto, path)


CASES = {
    # name: (model, opset, dynamic axes, batch)
    "adapter": (lambda: Adapter(blocks()), 16, "", 1),
    "adapter_loop": (lambda: Adapter(blocks(), style="loop"), 17, "", 2),
    "adapter_dynamic": (lambda: Adapter(blocks()), 17, "b", 2),
    "injected": (lambda: Injected(blocks()), 16, "", 1),
    "injected_loop": (lambda: Injected(blocks(layer_scale=True), style="loop"), 17, "", 2),
    "injected_class": (lambda: Injected(blocks(), special=1), 17, "", 1),
    "pixel_decoder": (lambda: PixelDecoded(blocks()), 16, "", 1),
    "pixel_decoder_loop": (lambda: PixelDecoded(blocks(), style="loop"), 16, "", 2),
    "mask2former": (lambda: Mask2Former(blocks()), 16, "", 1),
    "mask2former_batch": (lambda: Mask2Former(blocks()), 17, "", 2),
    "mask2former_dynamic": (lambda: Mask2Former(blocks()), 16, "b", 2),
    "injected_dynamic": (lambda: Injected(blocks()), 16, "b", 2),
    "adapter_dynamo": (lambda: Adapter(blocks()), 17, "b", 2),
    "injected_dynamo": (lambda: Injected(blocks()), 17, "", 1),
    "injected_dynamo_batch": (lambda: Injected(blocks(layer_scale=True), style="loop"), 17, "", 2),
    "mask2former_dynamo": (lambda: Mask2Former(blocks(), guard="arithmetic"), 17, "", 1),
    "mask2former_dynamo_batch": (lambda: Mask2Former(blocks(), guard="arithmetic"), 17, "b", 2),
    "mask2former_arithmetic": (lambda: Mask2Former(blocks(), guard="arithmetic"), 17, "", 1),
}

if __name__ == "__main__":
    if sys.argv[1] == "--opset":
        CASES = {name: (build, int(sys.argv[2]), dynamic, batch) for name, (build, _, dynamic, batch) in CASES.items()}
        del sys.argv[1:3]
    make_exports.make_only(CASES, {})
    for name in CASES:
        if "dynamo" in name and (len(sys.argv) == 2 or name in sys.argv[2:]):
            as_dynamo(os.path.join(sys.argv[1], name + ".onnx"))
