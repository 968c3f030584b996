#!/usr/bin/env python3
"""Small random-weight vision transformers in the styles that people export, with references for the converter's tests.

    make_exports.py [--opset N] OUT_DIR [NAME...]

writes NAME.onnx, NAME.input.npy and, for the schedules none and {2, 5}, NAME.sSCHEDULE.outputK.npy and NAME.s2_5.map0.npy,
all computed here by PyTorch alone; --opset overrules the one each case names. Cases that must be refused are written as NAME.onnx with NAME.refused beside it.
Needs torch, numpy and onnx (Debian: python3-torch python3-torchvision python3-onnx python3-numpy).
"""
import inspect
import math
import os
import sys
import warnings

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore")
SIZE, PATCH, DIM, HEADS, DEPTH = (64, 96), 8, 48, 3, 7


# ---- merging, as the method defines it, image by image ----

def pair_up(x):
    """x [N, D] -> map [N]: mutual nearest neighbours by cosine share an id."""
    unit = F.normalize(x.double(), dim=-1)
    s = unit @ unit.t()
    s.fill_diagonal_(-math.inf)
    best = s.argmax(-1)
    i = torch.arange(len(x))
    mutual = best[best] == i
    leader = torch.where(mutual, torch.minimum(i, best), i)
    is_leader = leader == i
    return (torch.cumsum(is_leader.long(), 0) - 1)[leader]


class Tokens:
    """The residual stream: merges before chosen blocks, restores at the end."""

    def __init__(self, x, special, schedule, length_first=False):
        self.x, self.special, self.schedule, self.map, self.lead = x, special, schedule, None, None
        self.length_first = length_first

    def rows(self):
        return self.x[:, 0] if self.length_first else self.x[0]

    def image(self, rows):
        return rows[:, None] if self.length_first else rows[None]

    def before(self, block):
        if block not in self.schedule:
            return
        rows = self.rows()[self.special:]
        ids = pair_up(rows)
        count = int(ids.max()) + 1
        mean = torch.zeros(count, rows.shape[1]).index_add_(0, ids, rows) / torch.bincount(ids)[:, None]
        self.x = self.image(torch.cat([self.rows()[:self.special], mean]))
        first = torch.stack([(ids == k).nonzero()[0, 0] for k in range(count)])
        self.lead = first if self.lead is None else self.lead[first]
        self.map = ids if self.map is None else ids[self.map]

    def restored(self):
        if self.map is None:
            return self.x
        return self.image(torch.cat([self.rows()[:self.special], self.rows()[self.special:][self.map]]))


# ---- attention in the styles of several libraries ----

class Attention(nn.Module):
    def __init__(self, style="timm", scale="q", qk_norm=False, inner_norm=False, rope=None, bias=True, dim=DIM, heads=HEADS):
        super().__init__()
        self.style, self.scale, self.rope, self.h, self.d = style, scale, rope, heads, dim // heads
        if style in ("timm", "neox", "last", "flat", "sdpa"):
            self.qkv = nn.Linear(dim, 3 * dim, bias=bias)
        else:
            self.q, self.k, self.v = nn.Linear(dim, dim, bias=bias), nn.Linear(dim, dim, bias=bias and rope is None), nn.Linear(dim, dim, bias=bias)
        self.qn, self.kn = (nn.LayerNorm(self.d), nn.LayerNorm(self.d)) if qk_norm else (nn.Identity(), nn.Identity())
        self.inner = nn.LayerNorm(dim) if inner_norm else nn.Identity()
        self.proj = nn.Linear(dim, dim)

    def split(self, x):
        b, n, c = x.shape
        h, d = self.h, self.d
        if self.style in ("timm", "sdpa"):
            return self.qkv(x).reshape(b, n, 3, h, d).permute(2, 0, 3, 1, 4).unbind(0)
        if self.style == "neox":
            return self.qkv(x).reshape(b, n, h, 3 * d).permute(0, 2, 1, 3).chunk(3, -1)
        if self.style == "last":
            y = self.qkv(x).reshape(b, n, h, d, 3)
            return [y[..., k].transpose(1, 2) for k in range(3)]
        if self.style == "flat":
            y = self.qkv(x.reshape(b * n, c)).view(b, n, 3 * c)
            return [t.view(b, n, h, d).transpose(1, 2) for t in y.split(c, -1)]
        return [t.view(b, n, h, d).permute(0, 2, 1, 3) for t in (self.q(x), self.k(x), self.v(x))]

    def scores(self, q, k):
        s = self.d ** -0.5
        if self.style == "einsum":
            return torch.einsum("bhid,bhjd->bhij", q * s, k)
        if self.scale == "q":
            return (q * s) @ k.transpose(-2, -1)
        if self.scale == "k":
            return q @ (k * s).transpose(-2, -1)
        if self.scale == "both":
            return (q * math.sqrt(s)) @ (k.transpose(-2, -1) * math.sqrt(s))
        if self.scale == "div":
            return torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.d)
        return (q @ k.transpose(-2, -1)) * s

    def forward(self, x, stream=None, bias=None):
        b, n, c = x.shape
        q, k, v = self.split(x)
        q, k = self.qn(q), self.kn(k)
        if self.rope is not None:
            q, k = self.rope(q, stream), self.rope(k, stream)
        if self.style == "sdpa":  # needs PyTorch 2
            y = F.scaled_dot_product_attention(q, k, v)
        elif self.style == "bmm":
            q, k, v = (t.reshape(b * self.h, n, self.d) for t in (q, k, v))
            y = torch.bmm(torch.softmax(torch.bmm(q * self.d ** -0.5, k.transpose(1, 2)), -1), v)
            y = y.view(b, self.h, n, self.d)
        else:
            s = self.scores(q, k)
            if bias is not None:
                s = s + bias
            y = torch.softmax(s, -1) @ v
        y = y.permute(0, 2, 1, 3).contiguous().view(b, n, c) if self.style == "hf" else y.transpose(1, 2).reshape(b, n, c)
        return self.proj(self.inner(y))


class Rope(nn.Module):
    """Rotary positions of the image tokens, half or interleaved, tables as constants or worked out in the graph."""

    def __init__(self, special, half, in_graph, grid=(SIZE[0] // PATCH, SIZE[1] // PATCH), d=DIM // HEADS):
        super().__init__()
        self.special, self.half, self.in_graph, self.grid, self.d = special, half, in_graph, grid, d
        self.register_buffer("inv", 1.0 / 100 ** (torch.arange(0, 1, 4 / d)))
        self.register_buffer("sin_table", self.angles().sin())
        self.register_buffer("cos_table", self.angles().cos())

    def angles(self):
        h, w = self.grid
        y = (torch.arange(h).float() + 0.5) / h * 2 - 1
        x = (torch.arange(w).float() + 0.5) / w * 2 - 1
        at = torch.stack(torch.meshgrid(y, x, indexing="ij"), -1).flatten(0, 1)
        a = (2 * math.pi * at[:, :, None] * self.inv).flatten(1)
        return torch.cat([a, a], -1) if self.half else a.repeat_interleave(2, -1)

    def rotate(self, x):
        if self.half:
            a, b = x.chunk(2, -1)
            return torch.cat([-b, a], -1)
        return torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)

    def forward(self, x, stream):
        sin, cos = (self.angles().sin(), self.angles().cos()) if self.in_graph else (self.sin_table, self.cos_table)
        if stream.lead is not None:
            sin, cos = sin[stream.lead], cos[stream.lead]
        prefix, image = x[:, :, :self.special], x[:, :, self.special:]
        return torch.cat([prefix, image * cos + self.rotate(image) * sin], 2)


class LibraryAttention(nn.Module):
    """nn.MultiheadAttention: packed in_proj, [L, B, E] inside."""

    def __init__(self, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.mha = nn.MultiheadAttention(DIM, HEADS, batch_first=batch_first)

    def forward(self, x, stream=None):
        return self.mha(x, x, x, need_weights=False)[0]


# ---- MLPs ----

class Mlp(nn.Module):
    def __init__(self, act="gelu", kind="plain", hidden=96):
        super().__init__()
        self.act, self.kind = act, kind
        self.fc1 = nn.Linear(DIM, 2 * hidden if kind == "packed" else hidden)
        self.gate = nn.Linear(DIM, hidden) if kind in ("gated", "normed") else None
        self.norm = nn.LayerNorm(hidden) if kind == "normed" else nn.Identity()
        self.fc2 = nn.Linear(hidden, DIM)

    def activate(self, x):
        if self.act == "quick":
            return x * torch.sigmoid(1.702 * x)
        if self.act == "tanh":
            return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
        if self.act == "rounded":  # exports in half precision store the root of 2 rounded like this
            return 0.5 * x * (1.0 + torch.erf(x / 1.4140625))
        return {"gelu": F.gelu, "relu": F.relu, "silu": F.silu}[self.act](x)

    def forward(self, x):
        if self.kind == "packed":
            a, b = self.fc1(x).chunk(2, -1)
            return self.fc2(self.activate(a) * b)
        if self.gate is not None:
            return self.fc2(self.norm(self.activate(self.gate(x)) * self.fc1(x)))
        return self.fc2(self.norm(self.activate(self.fc1(x))))


class Block(nn.Module):
    def __init__(self, attention, mlp, layer_scale=False, eps=1e-6, length_first=False):
        super().__init__()
        self.norm1, self.attn, self.norm2, self.mlp = nn.LayerNorm(DIM, eps), attention, nn.LayerNorm(DIM, eps), mlp
        self.ls1 = nn.Parameter(torch.rand(DIM) + 0.5) if layer_scale else None
        self.ls2 = nn.Parameter(torch.rand(DIM) + 0.5) if layer_scale else None

    def forward(self, x, stream=None):
        a = self.attn(self.norm1(x), stream)
        x = x + (a if self.ls1 is None else a * self.ls1)
        m = self.mlp(self.norm2(x))
        return x + (m if self.ls2 is None else self.ls2 * m)


# ---- whole models ----

class Vit(nn.Module):
    """Patch embedding, special tokens, positions, blocks, final norm, head: each in several manners."""

    def __init__(self, block, special=1, pos="all", pre_norm=False, head="tokens", length_first=False, taps=None, depth=DEPTH,
                 classes=10, patchify="conv"):
        super().__init__()
        h, w = SIZE[0] // PATCH, SIZE[1] // PATCH
        self.special, self.pos, self.head, self.length_first, self.taps, self.grid = special, pos, head, length_first, taps, (h, w)
        self.patchify = patchify
        self.patch = nn.Conv2d(3, DIM, PATCH, PATCH) if patchify == "conv" else nn.Linear(3 * PATCH * PATCH, DIM)
        if special:
            self.cls = nn.Parameter(torch.randn(1, 1, DIM))
        if special > 1:
            self.reg = nn.Parameter(torch.randn(1, special - 1, DIM))
        count = h * w + {"all": special, "cls": 1 if special else 0, "patches": 0, "none": 0}[pos]
        self.pos_embed = nn.Parameter(torch.randn(1, count, DIM)) if pos != "none" else None
        self.pre = nn.LayerNorm(DIM) if pre_norm else nn.Identity()
        self.blocks = nn.ModuleList([block() for _ in range(depth)])
        self.norm = nn.LayerNorm(DIM, 1e-6)
        if head in ("class", "pool", "seg", "unit"):
            self.fc = nn.Linear(DIM, classes)
        if head == "map":
            self.latent = nn.Parameter(torch.randn(1, 1, DIM))
            self.pool = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        if head == "neck":
            self.squeeze, self.weight, self.shift = nn.Conv2d(DIM, 16, 1), nn.Parameter(torch.rand(16) + 0.5), nn.Parameter(torch.rand(16))
        if head == "dpt":
            self.readout = nn.ModuleList([nn.Sequential(nn.Linear(2 * DIM, DIM), nn.GELU()) for _ in taps])
            self.up = nn.ModuleList([nn.ConvTranspose2d(DIM, 16, 4, 4), nn.ConvTranspose2d(DIM, 16, 2, 2),
                                     nn.Conv2d(DIM, 16, 1), nn.Conv2d(DIM, 16, 3, 2, 1)])
            self.fuse = nn.ModuleList([nn.Conv2d(16, 16, 3, 1, 1) for _ in taps])
            self.out = nn.Conv2d(16, 1, 3, 1, 1)

    def patches(self, image):
        if self.patchify == "conv":
            return self.patch(image).flatten(2).transpose(1, 2)
        b, (h, w) = image.shape[0], self.grid
        x = image.reshape(b, 3, h, PATCH, w, PATCH).permute(0, 2, 4, 3, 5, 1).reshape(b, h * w, -1)
        return self.patch(x)

    def embed(self, image):
        b = image.shape[0]
        x = self.patches(image)
        if self.pos == "patches":
            x = x + self.pos_embed
        front = [self.cls.expand(b, -1, -1)] if self.special else []
        if self.pos == "cls":
            x = torch.cat(front + [x], 1) + self.pos_embed
            if self.special > 1:
                x = torch.cat([x[:, :1], self.reg.expand(b, -1, -1), x[:, 1:]], 1)
        else:
            if self.special > 1:
                front.append(self.reg.expand(b, -1, -1))
            x = torch.cat(front + [x], 1) if front else x
            if self.pos == "all":
                x = x + self.pos_embed
        return self.pre(x)

    def run(self, image, schedule=()):
        x = self.embed(image)
        if self.length_first:
            x = x.transpose(0, 1)
        stream = Tokens(x, self.special, schedule, self.length_first)
        tapped = []
        for k, block in enumerate(self.blocks):
            stream.before(k)
            stream.x = block(stream.x, stream)
            if self.taps and k in self.taps:
                tapped.append(stream.restored())
        x = stream.restored()
        if self.length_first:
            x = x.transpose(0, 1)
        return self.decode(x, tapped, image), stream.map

    def decode(self, x, tapped, image):
        if self.head == "taps":
            return tuple(self.norm(t) for t in tapped)
        if self.head == "dpt":
            return self.dense(tapped)
        x = self.norm(x)
        if self.head == "class":
            return self.fc(x[:, 0])
        if self.head == "unit":
            return F.normalize(self.fc(x[:, 0]), dim=-1)
        if self.head == "neck":  # a norm over the channels of a map, as in SAM
            y = self.squeeze(x[:, self.special:].transpose(1, 2).reshape(x.shape[0], DIM, *self.grid))
            u = y.mean(1, keepdim=True)
            y = (y - u) / torch.sqrt((y - u).pow(2).mean(1, keepdim=True) + 1e-6)
            return self.weight[:, None, None] * y + self.shift[:, None, None]
        if self.head == "pool":
            return self.fc(x[:, self.special:].mean(1))
        if self.head == "both":
            return x, x[:, 0]
        if self.head == "map":
            return self.pool(self.latent.expand(x.shape[0], -1, -1), x, x, need_weights=False)[0][:, 0]
        if self.head == "masks":  # as in MaskFormer and EoMT: a mask for each query
            rows = x[:, self.special:]
            return torch.einsum("bqc,bchw->bqhw", rows[:, :4], rows.transpose(1, 2).reshape(-1, DIM, *self.grid))
        if self.head == "seg":
            h, w = self.grid
            y = self.fc(x[:, self.special:]).transpose(1, 2).reshape(x.shape[0], -1, h, w)
            return F.interpolate(y, size=image.shape[2:], mode="bilinear")
        return x

    def dense(self, tapped):
        h, w = self.grid
        maps = []
        for t, readout, up in zip(tapped, self.readout, self.up):
            t = self.norm(t)
            image, cls = t[:, 1:], t[:, :1].expand(-1, h * w, -1)
            y = readout(torch.cat([image, cls], -1)).transpose(1, 2).reshape(-1, DIM, h, w)
            maps.append(up(y))
        y = None
        for m, conv in zip(reversed(maps), self.fuse):
            y = m if y is None else F.interpolate(y, size=m.shape[2:], mode="bilinear", align_corners=True) + m
            y = conv(F.relu(y)) + y
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=True)
        return F.relu(self.out(y))

    def forward(self, image):
        return self.run(image)[0]


class Padded(Vit):
    """An image that is no multiple of the patch: padded at the input, cut at the output, as in Segmenter."""

    def run(self, image, schedule=()):
        h, w = image.shape[2:]
        padded = F.pad(image, (0, -w % PATCH, 0, -h % PATCH))
        y, ids = super().run(padded, schedule)
        return y[:, :, :h, :w], ids


class Swapped(Vit):
    """Blue first, as OpenCV reads images."""

    def __init__(self, flip):
        super().__init__(blocks())
        self.flip = flip

    def run(self, image, schedule=()):
        return super().run(image.flip(1) if self.flip else image[:, [2, 1, 0]], schedule)


class Masked(Vit):
    """A scalar bool input beside the image, which exporters make of the default argument of DINOv2's repository."""

    masks = None

    def __init__(self):
        super().__init__(blocks(layer_scale=True))
        self.mask_token = nn.Parameter(torch.randn(1, DIM))

    def patches(self, image):
        x = super().patches(image)
        return x if self.masks is None else torch.where(self.masks.unsqueeze(-1), self.mask_token, x)

    def forward(self, image, masks):
        self.masks = masks
        y = self.run(image)[0]
        self.masks = None
        return y


def torchvision_vit(**_):
    from torchvision.models.vision_transformer import VisionTransformer

    class Wrapped(VisionTransformer):
        def run(self, image, schedule=()):
            x = self._process_input(image)
            x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.encoder.pos_embedding
            stream = Tokens(x, 1, schedule)
            for k, layer in enumerate(self.encoder.layers):
                stream.before(k)
                stream.x = layer(stream.x)
            return self.heads(self.encoder.ln(stream.restored())[:, 0]), stream.map

    return Wrapped(image_size=64, patch_size=8, num_layers=DEPTH, num_heads=HEADS, hidden_dim=DIM, mlp_dim=96, num_classes=10)


def blocks(**options):
    attn = {k: options.pop(k) for k in ("style", "scale", "qk_norm", "inner_norm", "bias") if k in options}
    mlp = {k: options.pop(k) for k in ("act", "kind") if k in options}
    rope = options.pop("rope", None)
    library = options.pop("library", None)

    def make():
        r = Rope(*rope) if rope else None
        a = LibraryAttention(library == "batch_first") if library else Attention(rope=r, **attn)
        return Block(a, Mlp(**mlp), **options)

    return make


CASES = {
    # name: (model, opset, dynamic axes, batch)
    "timm_opset11": (lambda: Vit(blocks()), 11, "", 1),
    "timm_opset13": (lambda: Vit(blocks()), 13, "", 1),
    "timm_opset17": (lambda: Vit(blocks()), 17, "", 1),
    "timm_batch2": (lambda: Vit(blocks()), 16, "", 2),
    "timm_dynamic": (lambda: Vit(blocks()), 14, "b", 2),
    "timm_qk_norm": (lambda: Vit(blocks(qk_norm=True, layer_scale=True)), 17, "b", 2),
    "timm_class": (lambda: Vit(blocks(), head="class"), 17, "b", 2),
    "timm_pool": (lambda: Vit(blocks(), head="pool", special=0), 13, "b", 2),
    "timm_patchify": (lambda: Vit(blocks(), patchify="linear"), 14, "b", 2),
    "timm_no_bias": (lambda: Vit(blocks(bias=False)), 15, "", 1),
    "deit_two_tokens": (lambda: Vit(blocks(), special=2), 12, "b", 2),
    "deit3": (lambda: Vit(blocks(layer_scale=True), pos="patches"), 16, "b", 2),
    "dinov2": (lambda: Vit(blocks(layer_scale=True)), 17, "", 1),
    "dinov2_registers": (lambda: Vit(blocks(layer_scale=True), special=5, pos="cls"), 17, "b", 2),
    "dinov2_swiglu": (lambda: Vit(blocks(layer_scale=True, kind="packed", act="silu")), 17, "", 1),
    "siglip_tokens": (lambda: Vit(blocks(act="tanh"), special=0), 17, "b", 2),
    "siglip_map": (lambda: Vit(blocks(act="tanh"), special=0, head="map"), 17, "", 1),
    "siglip_map_dynamic": (lambda: Vit(blocks(act="tanh"), special=0, head="map"), 17, "b", 2),
    "clip": (lambda: Vit(blocks(act="quick"), pre_norm=True, head="class"), 14, "b", 2),
    "clip_length_first": (lambda: Vit(blocks(act="quick", library="length_first"), pre_norm=True, length_first=True), 14, "b", 2),
    "clip_unit": (lambda: Vit(blocks(act="quick"), pre_norm=True, head="unit"), 17, "b", 2),
    "sam_neck": (lambda: Vit(blocks(), special=0, head="neck"), 17, "b", 2),
    "blue_first": (lambda: Swapped(flip=False), 17, "b", 2),
    "channels_flipped": (lambda: Swapped(flip=True), 17, "b", 2),
    "rounded_gelu": (lambda: Vit(blocks(act="rounded")), 17, "", 1),
    "relu_mlp": (lambda: Vit(blocks(act="relu")), 13, "", 1),
    "hf_vit": (lambda: Vit(blocks(style="hf", scale="div"), head="both"), 14, "b", 2),
    "hf_vit_static": (lambda: Vit(blocks(style="hf", scale="div"), head="class"), 11, "", 1),
    "hf_dinov2": (lambda: Vit(blocks(style="hf", scale="div", layer_scale=True), head="both"), 17, "b", 2),
    "hf_dpt": (lambda: Vit(blocks(style="hf", scale="div"), head="dpt", taps=(1, 3, 4, 6)), 14, "", 1),
    "hf_dpt_dynamic": (lambda: Vit(blocks(style="hf", scale="div"), head="dpt", taps=(1, 3, 4, 6)), 17, "b", 2),
    "taps": (lambda: Vit(blocks(), head="taps", taps=(1, 3, 4, 6)), 17, "b", 2),
    "segmenter_linear": (lambda: Vit(blocks(), head="seg"), 13, "b", 2),
    "masks": (lambda: Vit(blocks(), head="masks"), 13, "b", 2),
    "dinov2_masks": (Masked, 17, "", 1),
    "padded": (lambda: Padded(blocks(), head="seg"), 13, "b", 2),
    "dinov3": (lambda: Vit(blocks(style="hf", rope=(5, True, False), layer_scale=True), special=5, pos="none"), 17, "b", 2),
    "dinov3_in_graph": (lambda: Vit(blocks(style="hf", rope=(5, True, True), layer_scale=True), special=5, pos="none"), 14, "b", 2),
    "dinov3_swiglu": (lambda: Vit(blocks(style="hf", rope=(5, True, False), kind="gated", act="silu"), special=5, pos="none"), 13, "", 1),
    "eva02": (lambda: Vit(blocks(rope=(1, False, False), kind="normed", act="silu", inner_norm=True)), 17, "", 1),
    "eva02_packed": (lambda: Vit(blocks(rope=(1, False, False), kind="packed", act="silu")), 12, "b", 2),
    "rope_no_special": (lambda: Vit(blocks(rope=(0, False, False)), special=0, pos="none"), 17, "b", 2),
    "rope_qk_norm": (lambda: Vit(blocks(style="hf", rope=(1, True, False), qk_norm=True)), 17, "b", 2),
    "scale_k": (lambda: Vit(blocks(scale="k")), 13, "", 1),
    "scale_both": (lambda: Vit(blocks(scale="both")), 14, "b", 2),
    "scale_product": (lambda: Vit(blocks(scale="product")), 15, "", 1),
    "neox_columns": (lambda: Vit(blocks(style="neox")), 13, "b", 2),
    "last_axis_columns": (lambda: Vit(blocks(style="last")), 13, "b", 2),
    "gemm": (lambda: Vit(blocks(style="flat")), 13, "", 1),
    "bmm": (lambda: Vit(blocks(style="bmm")), 13, "b", 2),
    "einsum": (lambda: Vit(blocks(style="einsum")), 13, "", 1),
    "torchvision": (torchvision_vit, 14, "", 1),
    "torchvision_dynamic": (torchvision_vit, 17, "b", 2),
    "sdpa": (lambda: Vit(blocks(style="sdpa", layer_scale=True), special=2), 14, "b", 2),
    "library_batch_first": (lambda: Vit(blocks(library="batch_first")), 13, "b", 2),
}


# ---- models that cannot be converted ----

class Windowed(Attention):
    def forward(self, x, stream=None, bias=None):
        b, n, c = x.shape
        return super().forward(x.reshape(b * 4, n // 4, c)).reshape(b, n, c)


class Relative(Attention):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, HEADS, 96, 96))

    def forward(self, x, stream=None, bias=None):
        return super().forward(x, stream, self.table)


class PostNorm(Block):
    def forward(self, x, stream=None):
        x = self.norm1(x + self.attn(x, stream))
        return self.norm2(x + self.mlp(x))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Nhwc(Vit):
    def forward(self, image):
        return super().forward(image.permute(0, 3, 1, 2))


class Watched(Vit):
    """Outputs the probabilities of the second block, so that no encoder can contain this block."""

    def run(self, image, schedule=()):
        x = self.embed(image)
        for k, block in enumerate(self.blocks):
            if k == 1:
                a, y = block.attn, block.norm1(x)
                q, key, v = a.split(y)
                extra = a.scores(q, key).softmax(-1)
                x = x + a.proj((extra @ v).transpose(1, 2).reshape(y.shape))
                x = x + block.mlp(block.norm2(x))
            else:
                x = block(x)
        return (self.norm(x), extra), None


REFUSED = {
    "channels_last": (lambda: Nhwc(blocks()), "channels first"),
    "watched_attention": (lambda: Watched(blocks()), "probabilities"),
    "windowed": (lambda: Vit(lambda: Block(Windowed(), Mlp()), special=0), "windows"),
    "relative_bias": (lambda: Vit(lambda: Block(Relative(), Mlp()), special=0), "bias"),
    "post_norm": (lambda: Vit(lambda: PostNorm(Attention(), Mlp())), "norm"),
    "cnn": (Cnn, "no attention"),
}


def spread(model):
    """Weights away from their initial values: biases are not zero, tokens not alike."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.abs().max() == 0:
                p.normal_(0, 0.1)
            elif p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
            elif "pos" not in name and "cls" not in name and "token" not in name:
                p.mul_(1.5)
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)


def export(model, image, path, opset, dynamic):
    extra = {"masks": torch.tensor(False)} if isinstance(model, Masked) else {}
    for module in model.modules():  # nn.MultiheadAttention in training mode avoids the fused path; batch norms need evaluation mode
        module.training = isinstance(module, nn.MultiheadAttention)
    names = {"image": {0: "batch"}} if dynamic else None
    legacy = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(model, (image, *extra.values()), path, opset_version=opset, input_names=["image", *extra], dynamic_axes=names,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=True, **legacy)
    model.eval()


def as_tuple(y):
    return y if isinstance(y, tuple) else (y,)


def make(name, out, half=False):
    build, opset, dynamic, batch = CASES[name]
    torch.manual_seed(len(name) * 1000 + sum(map(ord, name)))
    model = build().eval()
    spread(model)
    if half:
        round_to_half(model)
    size = (64, 64) if name.startswith("torchvision") else (60, 90) if name.startswith("padded") else getattr(model, "size", SIZE)
    image = torch.rand(batch, 3, *size) * 2 - 1
    base = os.path.join(out, name)
    export(model, image, base + ".onnx", opset, dynamic)
    if half:
        halve(base + ".onnx")
    np.save(base + ".input.npy", image.numpy())
    grid = getattr(model, "grid", None)
    if grid is not None:
        with open(base + ".grid", "w") as file:
            file.write("%d %d" % (grid() if callable(grid) else grid))
    with torch.no_grad():
        for label, schedule in (("none", ()), ("2_5", (2, 5))):
            runs = [model.run(image[k:k + 1], schedule) for k in range(batch)]
            for k in range(len(as_tuple(runs[0][0]))):
                y = torch.cat([as_tuple(r[0])[k] for r in runs])
                if float(y.std()) < 1e-3 * float(y.abs().max()) or not bool(y.any()):
                    raise ValueError(f"output {k} is the same everywhere: it would hide mistakes")
                np.save(f"{base}.s{label}.output{k}.npy", y.numpy())
            if schedule:
                for k, r in enumerate(runs):
                    np.save(f"{base}.s{label}.map{k}.npy", r[1].numpy())


def variants(out):
    """The same export as other tools store it: weights in a file beside it, in half precision."""
    source = onnx.load(os.path.join(out, "timm_opset17.onnx"))
    for ending in ("input.npy", "snone.output0.npy", "s2_5.output0.npy", "s2_5.map0.npy"):
        data = open(os.path.join(out, "timm_opset17." + ending), "rb").read()
        open(os.path.join(out, "timm_external." + ending), "wb").write(data)
    onnx.save(source, os.path.join(out, "timm_external.onnx"), save_as_external_data=True, location="timm_external.bin",
              size_threshold=0)


def copy_references(out, source, target):
    for name in os.listdir(out):
        if name.startswith(source + ".") and name.endswith(".npy"):
            data = open(os.path.join(out, name), "rb").read()
            open(os.path.join(out, target + name[len(source):]), "wb").write(data)


def make_attention_operator(out):
    """Softmax and both products as the operator of opset 23, which this exporter cannot write itself."""
    model = onnx.load(os.path.join(out, "timm_dynamic.onnx"))
    nodes = model.graph.node
    maker = {o: n for n in nodes for o in n.output}
    for softmax in [n for n in nodes if n.op_type == "Softmax"]:
        scores = maker[softmax.input[0]]
        mix = next(n for n in nodes if softmax.output[0] in n.input)
        q, k = maker[scores.input[0]].input[0], maker[scores.input[1]].input[0]
        at = list(nodes).index(mix)
        nodes.remove(mix)
        nodes.insert(at, onnx.helper.make_node("Attention", [q, k, mix.input[1]], list(mix.output)))
        nodes.remove(scores)
        nodes.remove(softmax)
    model.opset_import[0].version = 23
    onnx.save(model, os.path.join(out, "attention_operator.onnx"))
    copy_references(out, "timm_dynamic", "attention_operator")


def make_half(out):
    """Weights in half precision, cast before each use; references with the rounded weights."""
    torch.manual_seed(9)
    model = Vit(blocks()).eval()
    spread(model)
    for p in model.parameters():
        p.data = p.data.half().float()
    base = os.path.join(out, "half_weights")
    image = torch.rand(1, 3, *SIZE) * 2 - 1
    export(model, image, base + ".onnx", 13, "")
    proto = onnx.load(base + ".onnx")
    casts = []
    for tensor in proto.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and len(tensor.dims) >= 2:
            values = onnx.numpy_helper.to_array(tensor).astype(np.float16)
            casts.append(onnx.helper.make_node("Cast", [tensor.name + ".half"], [tensor.name], to=onnx.TensorProto.FLOAT))
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name + ".half"))
    for cast in reversed(casts):
        proto.graph.node.insert(0, cast)
    onnx.save(proto, base + ".onnx")
    np.save(base + ".input.npy", image.numpy())
    with torch.no_grad():
        for label, schedule in (("none", ()), ("2_5", (2, 5))):
            y, ids = model.run(image, schedule)
            np.save(f"{base}.s{label}.output0.npy", y.numpy())
        np.save(f"{base}.s2_5.map0.npy", ids.numpy())


def references(model, image, base):
    np.save(base + ".input.npy", image.numpy())
    with torch.no_grad():
        for label, schedule in (("none", ()), ("2_5", (2, 5))):
            y, ids = model.run(image, schedule)
            np.save(f"{base}.s{label}.output0.npy", y.numpy())
        np.save(f"{base}.s2_5.map0.npy", ids.numpy())


def halve(path):
    """Everything of an export in half precision: weights, constants, inputs and outputs."""
    proto, half = onnx.load(path), onnx.TensorProto.FLOAT16

    def shrink(tensor):
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float16), tensor.name))

    for tensor in proto.graph.initializer:
        shrink(tensor)
    for node in proto.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                shrink(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
                attribute.i = half
    for port in [*proto.graph.input, *proto.graph.output]:
        port.type.tensor_type.elem_type = half
    onnx.save(proto, path)


def round_to_half(model):
    for values in [*model.parameters(), *model.buffers()]:
        if values.is_floating_point():
            values.data = values.data.half().float()


def make_all_half(out):
    """Everything in half precision, the root of 2 in GELU included; references with rounded weights and an exact GELU."""
    torch.manual_seed(10)
    model = Vit(blocks()).eval()
    spread(model)
    round_to_half(model)
    base = os.path.join(out, "half_all")
    image = torch.rand(1, 3, *SIZE) * 2 - 1
    export(model, image, base + ".onnx", 17, "")
    halve(base + ".onnx")
    references(model, image, base)


def take_out(nodes, gone, at, new):
    """Replaces nodes by a single node, at the place of `at`."""
    nodes.insert(list(nodes).index(at), new)
    for node in gone:
        nodes.remove(node)


def make_optimised(out):
    """Nodes fused as ONNX Runtime's optimiser does: FusedMatMul, BiasGelu, SkipLayerNormalization."""
    torch.manual_seed(11)
    model = Vit(blocks(scale="product")).eval()
    spread(model)
    base = os.path.join(out, "optimised")
    image = torch.rand(1, 3, *SIZE) * 2 - 1
    export(model, image, base + ".onnx", 17, "")
    proto = onnx.load(base + ".onnx")
    nodes = proto.graph.node
    fused = {"domain": "com.microsoft"}

    def maker(value):
        return next((n for n in nodes if value in n.output), None)

    def user(value):
        return next(n for n in nodes if value in n.input)

    weights = {t.name: t for t in proto.graph.initializer}
    for erf in [n for n in nodes if n.op_type == "Erf"]:
        root, one = maker(erf.input[0]), user(erf.output[0])
        product = user(one.output[0])
        last, biased = user(product.output[0]), maker(root.input[0])
        first, second = biased.input if biased.input[1] in weights else reversed(biased.input)
        take_out(nodes, [root, erf, one, product, last, biased], last,
                 onnx.helper.make_node("BiasGelu", [first, second], list(last.output), **fused))
    for softmax in [n for n in nodes if n.op_type == "Softmax"]:
        scaled = maker(softmax.input[0])
        scores = next(m for m in map(maker, scaled.input) if m is not None and m.op_type == "MatMul")
        turned = maker(scores.input[1])
        take_out(nodes, [scaled, scores], scaled, onnx.helper.make_node(
            "FusedMatMul", [scores.input[0], turned.output[0]], list(scaled.output), alpha=(DIM // HEADS) ** -0.5, **fused))
        if list(turned.attribute[0].ints) == [0, 1, 3, 2]:
            node = user(turned.output[0])
            node.input[1] = turned.input[0]
            node.attribute.append(onnx.helper.make_attribute("transB", 1))
            nodes.remove(turned)
    for norm in [n for n in nodes if n.op_type == "LayerNormalization"]:
        added = maker(norm.input[0])
        if added is None or added.op_type != "Add" or set(added.input) & set(weights):
            continue
        epsilon = next(a.f for a in norm.attribute if a.name == "epsilon")
        take_out(nodes, [added, norm], added, onnx.helper.make_node(
            "SkipLayerNormalization", [*added.input, *norm.input[1:]], [norm.output[0], "", "", added.output[0]], epsilon=epsilon, **fused))
    proto.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(proto, base + ".onnx")
    references(model, image, base)


def make_unbound(out):
    """Queries, keys and values as PyTorch 2.6 unbinds them: a sequence split by the scalar 1, without the axis."""
    proto = onnx.load(os.path.join(out, "timm_opset17.onnx"))
    nodes = proto.graph.node
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1), "one_each"))
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.array(k), f"piece{k}") for k in range(3))
    for split in [n for n in nodes if n.op_type == "Split"]:
        listed, at = split.output[0] + ".list", list(nodes).index(split)
        for k, piece in enumerate(split.output):
            squeeze = next(n for n in nodes if n.op_type == "Squeeze" and piece in n.input)
            squeeze.CopyFrom(onnx.helper.make_node("SequenceAt", [listed, f"piece{k}"], list(squeeze.output)))
        nodes.remove(split)
        nodes.insert(at, onnx.helper.make_node("SplitToSequence", [split.input[0], "one_each"], [listed], axis=0, keepdims=0))
    onnx.save(proto, os.path.join(out, "unbound.onnx"))
    copy_references(out, "timm_opset17", "unbound")


def make_quantised(out):
    """Rejected, with advice."""
    helper, types = onnx.helper, onnx.TensorProto
    node = helper.make_node("DynamicQuantizeLinear", ["image"], ["y", "scale", "zero"])
    graph = helper.make_graph([node], "quantised", [helper.make_tensor_value_info("image", types.FLOAT, [1, 3, 64, 96])],
                              [helper.make_tensor_value_info("y", types.UINT8, [1, 3, 64, 96])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), os.path.join(out, "quantised.onnx"))
    open(os.path.join(out, "quantised.refused"), "w").write("--precision i8")


def make_resized(out):
    """Exported at a size, expected at another: positions bicubic as timm resizes them, bilinear as Segmenter does."""
    for name, head, mode, to in (("resized_bicubic", "tokens", "bicubic", (12, 10)), ("resized_bilinear", "seg", "bilinear", (12, 10)),
                                 ("resized_turned", "tokens", "bicubic", (12, 8))):  # as many patches as in the export
        torch.manual_seed(len(name))
        model = Vit(blocks(), head=head).eval()
        spread(model)
        base = os.path.join(out, name)
        export(model, torch.rand(1, 3, *SIZE), base + ".onnx", 13, "")
        h, w = model.grid
        grid = model.pos_embed[:, 1:].reshape(1, h, w, DIM).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=to, mode=mode, align_corners=False, antialias=mode == "bicubic")
        model.pos_embed.data = torch.cat([model.pos_embed[:, :1], grid.flatten(2).transpose(1, 2)], 1)
        model.grid = to
        image = torch.rand(1, 3, to[0] * PATCH, to[1] * PATCH) * 2 - 1
        open(base + ".size", "w").write(f"{to[0] * PATCH} {to[1] * PATCH}")
        np.save(base + ".input.npy", image.numpy())
        with torch.no_grad():
            for label, schedule in (("none", ()), ("2_5", (2, 5))):
                y, ids = model.run(image, schedule)
                np.save(f"{base}.s{label}.output0.npy", y.numpy())
            np.save(f"{base}.s2_5.map0.npy", ids.numpy())


def make_only(cases, decoders):
    """The cases of another generator; `decoders`: the value of --decoder that a case is tested with."""
    out, *wanted = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    CASES.clear()
    CASES.update(cases)
    for name in cases:
        if wanted and name not in wanted:
            continue
        make(name, out)
        if name in decoders:
            with open(os.path.join(out, name + ".decoder"), "w") as file:
                file.write(decoders[name])
        print("made", name)


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--opset":
        for name, (build, _, dynamic, batch) in CASES.items():
            CASES[name] = (build, int(arguments[1]), dynamic, batch)
        arguments = arguments[2:]
    out, *wanted = arguments
    os.makedirs(out, exist_ok=True)
    for name in CASES:
        if wanted and name not in wanted:
            continue
        try:
            make(name, out)
            print("made", name)
        except Exception as error:  # reports a case that this exporter cannot write, and continues
            print("not made", name, ":", str(error).splitlines()[0])
    for name, (build, word) in REFUSED.items():
        if wanted and name not in wanted:
            continue
        torch.manual_seed(1)
        image = torch.rand(1, *SIZE, 3) if name == "channels_last" else torch.rand(1, 3, *SIZE)
        export(build(), image, os.path.join(out, name + ".onnx"), 13, "")
        open(os.path.join(out, name + ".refused"), "w").write(word)
    if not wanted:
        variants(out)
        make_resized(out)
        make_attention_operator(out)
        make_half(out)
        make_all_half(out)
        make_optimised(out)
        make_unbound(out)
        make_quantised(out)


if __name__ == "__main__":
    main()
