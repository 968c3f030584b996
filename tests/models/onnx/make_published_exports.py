#!/usr/bin/env python3
"""Published architectures at small width with random weights: PMT, DINOv3 with a linear head, UPerNet on a plain ViT, Depth
Anything v2, Perception Encoder, RADIO. Written from their papers and repositories, step by step as these compute, without
their code.

    make_published_exports.py OUT_DIR [NAME...]

writes what make_exports.py writes, with the same references. NAME.decoder has the value of --decoder.
Needs torch, numpy and onnx, like make_exports.py.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import make_exports
from make_chain_exports import MaskHead, QUERIES
from make_exports import Tokens
from published_dense import DepthAnything, Feature2Pyramid, MultiLevelNeck, Upernet, pool_by_index, pool_by_slices, pool_evenly
from published_parts import CLASSES, DEPTH, DIM, HEADS, Published, Scale, TimmBlock, as_map, attend, heads_of, mlp

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


# ---- DINOv3: rotary positions computed once, keys without bias ----

class MaskedBias(nn.Linear):
    """Queries, keys and values; the bias of the keys is multiplied by zero."""

    def __init__(self):
        super().__init__(DIM, 3 * DIM)
        self.register_buffer("mask", torch.ones(3, DIM).index_fill(0, torch.tensor(1), 0).flatten())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias * self.mask)


def turned(x, stream, sin, cos):
    """Halves are rotated; tokens in front of the image have no position."""
    if stream.lead is not None:
        sin, cos = sin[stream.lead], cos[stream.lead]
    front = x.shape[-2] - sin.shape[-2]
    prefix, image = x[:, :, :front], x[:, :, front:]
    a, b = image.chunk(2, dim=-1)
    return torch.cat((prefix, image * cos + torch.cat([-b, a], dim=-1) * sin), dim=-2)


class Dinov3Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM, 1e-5), nn.LayerNorm(DIM, 1e-5)
        self.qkv, self.proj, self.mlp = MaskedBias(), nn.Linear(DIM, DIM), mlp()
        self.ls1, self.ls2 = Scale(), Scale()

    def attention(self, x, stream, sin, cos):
        b, n, _ = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, HEADS, DIM // HEADS)
        q, k, v = (t.transpose(1, 2) for t in torch.unbind(qkv, 2))
        return self.proj(attend(turned(q, stream, sin, cos), turned(k, stream, sin, cos), v))

    def forward(self, x, stream, sin, cos):
        x = x + self.ls1(self.attention(self.norm1(x), stream, sin, cos))
        return x + self.ls2(self.mlp(self.norm2(x)))


class Dinov3(Published):
    special = 5

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, DIM, self.patch, self.patch)
        self.cls_token, self.storage = nn.Parameter(torch.randn(1, 1, DIM)), nn.Parameter(torch.randn(1, 4, DIM))
        self.blocks = nn.ModuleList([Dinov3Block() for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(DIM, 1e-5)
        quarter = DIM // HEADS // 4
        self.register_buffer("periods", 100.0 ** (2 * torch.arange(quarter).float() / (2 * quarter)))

    def rotary(self, h, w):
        y, x = torch.arange(0.5, h) / h, torch.arange(0.5, w) / w
        at = torch.stack(torch.meshgrid(y, x, indexing="ij"), dim=-1).flatten(0, 1)
        angles = 2 * math.pi * (2.0 * at - 1.0)[:, :, None] / self.periods[None, None, :]
        angles = angles.flatten(1, 2).repeat(1, 2)
        return torch.sin(angles), torch.cos(angles)

    def encode(self, image, schedule):
        x = self.embed(image)
        b, _, h, w = x.shape
        x = torch.cat([self.cls_token.expand(b, -1, -1), self.storage.expand(b, -1, -1), x.flatten(2).transpose(1, 2)], 1)
        tables = self.rotary(h, w)
        stream, tapped = self.through(x, self.special, schedule, *tables)
        return stream, [self.norm(t) for t in tapped], tables


class Dinov3Linear(Dinov3):
    """The head of DINOv3's evaluation: maps of four depths, joined, normalised, a product, resized."""

    def __init__(self):
        super().__init__()
        self.batchnorm, self.conv = nn.BatchNorm2d(4 * DIM), nn.Conv2d(4 * DIM, CLASSES, 1)
        self.dropout = nn.Dropout2d(0.1)

    def run(self, image, schedule=()):
        stream, tapped, _ = self.encode(image, schedule)
        maps = [as_map(t[:, self.special:], *self.grid()) for t in tapped]
        maps = [F.interpolate(m, size=maps[0].shape[2:], mode="bilinear", align_corners=False) for m in maps]
        logits = self.conv(self.batchnorm(self.dropout(torch.cat(maps, 1))))
        return F.interpolate(logits, size=self.size, mode="bilinear"), stream.map


class PmtBlock(nn.Module):
    """Three products, as in transformers; that of the keys has no bias."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM, bias=k != 1) for k in range(4))
        self.mlp, self.scale1, self.scale2 = mlp(), Scale(), Scale()

    def forward(self, x, stream, sin, cos):
        y = self.norm1(x)
        q, k, v = heads_of(self.q(y)), heads_of(self.k(y)), heads_of(self.v(y))
        x = x + self.scale1(self.o(attend(turned(q, stream, sin, cos), turned(k, stream, sin, cos), v)))
        return x + self.scale2(self.mlp(self.norm2(x)))


class Pmt(Dinov3):
    """A frozen encoder; a decoder of plain blocks reads the sum of four depths behind the queries. With `merged` the decoder
    follows the merge map: its tokens are the means of what the map joins."""

    def __init__(self, merged=False):
        super().__init__()
        self.merged = merged
        self.register_buffer("mean", torch.tensor(MEAN).reshape(1, -1, 1, 1))
        self.register_buffer("std", torch.tensor(STD).reshape(1, -1, 1, 1))
        self.bn = nn.ModuleList([nn.BatchNorm1d(DIM) for _ in self.taps])
        self.lateral = nn.ModuleList([mlp(DIM // 2) for _ in self.taps])
        self.scalers = nn.ParameterList([nn.Parameter(torch.rand(DIM) + 0.5) for _ in self.taps])
        self.q, self.decoder = nn.Embedding(QUERIES, DIM), nn.ModuleList([PmtBlock() for _ in range(6)])
        self.decoder_norm, self.head = nn.LayerNorm(DIM), MaskHead(self.special, self.grid())

    def run(self, image, schedule=()):
        stream, tapped, tables = self.encode((image - self.mean) / self.std, schedule)
        features = [bn(t.permute(0, 2, 1)).permute(0, 2, 1) for bn, t in zip(self.bn, tapped)]
        features = [(t + f(t)) * s for t, f, s in zip(features, self.lateral, self.scalers)]
        x = torch.stack(features, dim=0).sum(dim=0)
        x = torch.cat((self.q.weight[None, :, :].expand(x.shape[0], -1, -1), x), dim=1)
        after = Tokens(x, QUERIES + self.special, ())
        if self.merged and stream.map is not None:
            image_rows, count = x[0, after.special:], int(stream.map.max()) + 1
            mean = torch.zeros(count, DIM).index_add_(0, stream.map, image_rows) / torch.bincount(stream.map)[:, None]
            after.x, after.map, after.lead = torch.cat([x[:, :after.special], mean[None]], 1), stream.map, stream.lead
        for block in self.decoder:
            after.x = block(after.x, after, *tables)
        return self.head(self.decoder_norm(after.restored())), stream.map


# ---- Perception Encoder ----

class PairedRope(nn.Module):
    """Neighbours are rotated; the class token has the angle 0, so that the table covers every row."""

    def __init__(self, h, w, cls):
        super().__init__()
        width = DIM // HEADS // 2
        inverse = 1.0 / 10000 ** (torch.arange(0, width, 2)[:width // 2].float() / width)
        y, x = ((torch.arange(n) + int(cls)).float()[:, None] * inverse for n in (h, w))
        y, x = y.repeat_interleave(2, -1)[:, None].expand(h, w, -1), x.repeat_interleave(2, -1)[None].expand(h, w, -1)
        table = torch.cat([x, y], dim=-1).reshape(h * w, -1)
        self.cls = int(cls)
        self.register_buffer("table", torch.cat([torch.zeros(self.cls, table.shape[-1]), table]))

    def forward(self, t, stream):
        angles = self.table
        if stream.lead is not None:
            angles = torch.cat([angles[:self.cls], angles[self.cls:][stream.lead]])
        angles = angles[None][:, None, :, :]
        width = angles.shape[-1]
        left, middle, right = t[..., :0], t[..., 0:width], t[..., width:]
        pairs = middle.reshape(*middle.shape[:-1], width // 2, 2)
        a, b = pairs.unbind(dim=-1)
        middle = middle * angles.cos() * 1.0 + torch.stack((-b, a), dim=-1).flatten(-2) * angles.sin() * 1.0
        return torch.cat((left, middle, right), dim=-1)


class PeBlock(nn.Module):
    def __init__(self, rope, scaled):
        super().__init__()
        self.in_proj_weight, self.in_proj_bias = nn.Parameter(torch.randn(3 * DIM, DIM) * 0.1), nn.Parameter(torch.randn(3 * DIM))
        self.out_proj, self.mlp, self.rope = nn.Linear(DIM, DIM), mlp(), rope
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.ls_1, self.ls_2 = (Scale(), Scale()) if scaled else (nn.Identity(), nn.Identity())

    def forward(self, x, stream):
        y = F.linear(self.ln_1(x), self.in_proj_weight, self.in_proj_bias)
        y = y.view(*y.shape[:-1], 3, DIM).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        q, k, v = heads_of(y[0]), heads_of(y[1]), heads_of(y[2])
        y = attend(self.rope(q, stream), self.rope(k, stream), v)
        x = x + self.ls_1(F.linear(y, self.out_proj.weight, self.out_proj.bias))
        return x + self.ls_2(self.mlp(self.ln_2(x)))


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.probe, self.attn = nn.Parameter(torch.randn(1, 1, DIM)), nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        self.layernorm, self.mlp = nn.LayerNorm(DIM), mlp()

    def forward(self, x):
        x = self.attn(self.probe.repeat((x.shape[0], 1, 1)), x, x, need_weights=False)[0]
        return (x + self.mlp(self.layernorm(x))).squeeze(1)


class PerceptionEncoder(Published):
    """Learned positions of a square grid, resized, and rotary ones. `core`: class token, pooled; else as PE spatial."""

    trained = 6

    def __init__(self, core):
        super().__init__()
        self.core = core
        self.conv1 = nn.Conv2d(3, DIM, self.patch, self.patch, bias=False)
        rope = PairedRope(*self.grid(), core)
        self.class_embedding = nn.Parameter(torch.randn(DIM))
        self.positional = nn.Parameter(torch.randn(int(core) + self.trained ** 2, DIM))
        self.ln_pre, self.ln_post = nn.LayerNorm(DIM), nn.LayerNorm(DIM) if core else nn.Identity()
        self.blocks = nn.ModuleList([PeBlock(rope, scaled=not core) for _ in range(DEPTH)])
        self.pool, self.proj = Pooling() if core else nn.Identity(), nn.Parameter(torch.randn(DIM, 32) * 0.1)

    def positions(self, h, w):
        front, grid = self.positional[:int(self.core)], self.positional[int(self.core):]
        grid = grid.reshape(1, self.trained, self.trained, -1).permute(0, 3, 1, 2).contiguous()
        grid = F.interpolate(grid, size=(h, w), mode="bilinear", align_corners=False)
        return torch.cat([front, grid.permute(0, 2, 3, 1).reshape(-1, DIM).contiguous()])[None]

    def run(self, image, schedule=()):
        h, w = image.shape[2] // self.patch, image.shape[3] // self.patch
        x = self.conv1(image).permute(0, 2, 3, 1).reshape(image.shape[0], -1, DIM)
        if self.core:
            x = torch.cat([self.class_embedding.view(1, 1, -1).expand(x.shape[0], -1, -1), x], dim=1)
        stream, _ = self.through(self.ln_pre(x + self.positions(h, w)), int(self.core), schedule)
        x = self.pool(self.ln_post(stream.restored()))
        return x @ self.proj if self.core else x, stream.map


# ---- RADIO ----

class Radio(Published):
    """Patches by a product, positions cut out of a larger grid, summary tokens of several teachers, registers. The input is
    normalised in the model."""

    largest, summaries, registers = (10, 14), 3, 4

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(STD).view(-1, 1, 1))
        self.embedder = nn.Linear(3 * self.patch ** 2, DIM, bias=False)
        self.pos_embed = nn.Parameter(torch.randn(1, self.largest[0] * self.largest[1], DIM))
        self.token = nn.Parameter(torch.randn(self.summaries + self.registers, DIM))
        self.blocks, self.norm = nn.ModuleList([TimmBlock() for _ in range(DEPTH)]), nn.LayerNorm(DIM, 1e-6)

    def positions(self, h, w):
        grid = self.pos_embed.reshape(1, *self.largest, -1).permute(0, 3, 1, 2)
        longest = max(h, w)
        grid = F.interpolate(grid.float(), size=(longest, longest), align_corners=True, mode="bilinear")
        return grid[..., :h, :][..., :, :w].flatten(2).permute(0, 2, 1)

    def run(self, image, schedule=()):
        x = (image - self.mean) / self.std
        (b, c, _, _), (h, w), p = x.shape, self.grid(), self.patch
        x = x.reshape(b, c, h, p, w, p).permute(0, 2, 4, 1, 3, 5).reshape(b, h * w, c * p * p)
        x = self.embedder(x) + self.positions(h, w)
        x = torch.cat([self.token.unsqueeze(0).expand(b, -1, -1), x], dim=1)
        special = self.summaries + self.registers
        stream, _ = self.through(x, special, schedule)
        y = self.norm(stream.restored())
        return (y[:, [0, 2]].flatten(1), y[:, special:]), stream.map


CASES = {
    # name: (model, opset, dynamic axes, batch)
    "pmt": (Pmt, 17, "", 1),
    "pmt_dynamic": (Pmt, 16, "b", 2),
    "pmt_merged": (lambda: Pmt(merged=True), 17, "", 1),
    "pmt_merged_dynamic": (lambda: Pmt(merged=True), 14, "b", 2),
    "dinov3_linear": (Dinov3Linear, 17, "", 1),
    "dinov3_linear_dynamic": (Dinov3Linear, 16, "b", 2),
    "upernet_neck": (lambda: Upernet(MultiLevelNeck), 17, "", 1),
    "upernet_neck_dynamic": (lambda: Upernet(MultiLevelNeck, pool_evenly), 13, "b", 2),
    "upernet_pyramid": (lambda: Upernet(Feature2Pyramid), 17, "", 1),
    "upernet_pyramid_dynamic": (lambda: Upernet(Feature2Pyramid, pool_evenly, scores=True), 16, "b", 2),
    "upernet_even_windows": (lambda: Upernet(Feature2Pyramid, pool_evenly, (112, 96)), 11, "b", 2),
    "upernet_slices": (lambda: Upernet(MultiLevelNeck, pool_by_slices, (64, 96)), 17, "", 1),
    "upernet_index": (lambda: Upernet(Feature2Pyramid, pool_by_index, (64, 96)), 17, "", 1),
    "upernet_index_dynamic": (lambda: Upernet(MultiLevelNeck, pool_by_index, (80, 96)), 14, "b", 2),
    "depth_anything": (DepthAnything, 17, "", 1),
    "depth_anything_dynamic": (DepthAnything, 14, "b", 2),
    "depth_anything_readout": (lambda: DepthAnything(readout=True), 17, "b", 2),
    "depth_anything_opset11": (DepthAnything, 11, "", 1),
    "pe_core": (lambda: PerceptionEncoder(core=True), 17, "", 1),
    "pe_core_dynamic": (lambda: PerceptionEncoder(core=True), 14, "b", 2),
    "pe_spatial": (lambda: PerceptionEncoder(core=False), 17, "b", 2),
    "radio": (Radio, 17, "", 1),
    "radio_dynamic": (Radio, 14, "b", 2),
}

DECODERS = {"pmt_merged": "merged", "pmt_merged_dynamic": "merged"}

if __name__ == "__main__":
    make_exports.make_only(CASES, DECODERS)
