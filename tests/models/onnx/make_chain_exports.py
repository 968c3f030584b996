#!/usr/bin/env python3
"""Models whose blocks come in several groups, and newer blocks: EoMT, adapters, AIMv2, YOLOS and others.

    make_chain_exports.py OUT_DIR [NAME...]

writes what make_exports.py writes, with the same references: the merge map is carried from group to group, so that a
merged token gets the mean of what is added to its members. Masked attention is written as NAME.refused.
Needs torch, numpy and onnx, like make_exports.py.
"""
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

import make_exports
from make_exports import DIM, HEADS, PATCH, SIZE, Attention, Block, Mlp, Rope, Tokens, Vit, blocks

QUERIES, CLASSES = 6, 5


class LayerNorm2d(nn.LayerNorm):
    """Over the channels of a map, as timm has it."""

    def forward(self, x):
        return F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps).permute(0, 3, 1, 2)


class ScaleBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.ConvTranspose2d(DIM, DIM, 2, 2)
        self.conv2 = nn.Conv2d(DIM, DIM, 3, padding=1, groups=DIM, bias=False)
        self.norm = LayerNorm2d(DIM)

    def forward(self, x):
        return self.norm(self.conv2(F.gelu(self.conv1(x))))


class MaskHead(nn.Module):
    """Classes and masks of the queries, which are in front of all other tokens."""

    def __init__(self, special, grid, scales=1):
        super().__init__()
        self.special, self.grid = special, grid
        self.class_head = nn.Linear(DIM, CLASSES + 1)
        self.mask_head = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM))
        self.upscale = nn.Sequential(*[ScaleBlock() for _ in range(scales)])

    def forward(self, x):
        q = x[:, :QUERIES]
        image = x[:, QUERIES + self.special:].transpose(1, 2).reshape(x.shape[0], -1, *self.grid)
        return torch.einsum("bqc, bchw -> bqhw", self.mask_head(q), self.upscale(image)), self.class_head(q)


class Eomt(Vit):
    """Queries join the tokens before the last blocks; masked attention is off unless `masked`."""

    def __init__(self, block, special=5, pos="cls", joined=3, normalise=False, full=None, masked=False, scales=1):
        super().__init__(block, special=special, pos=pos)
        self.joined, self.full, self.masked = joined, full, masked
        self.q = nn.Embedding(QUERIES, DIM)
        self.masks = MaskHead(special, self.grid, scales)
        if normalise:
            self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1))
            self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1))
        else:
            self.mean = None

    def join(self, stream):
        stream.x = torch.cat([self.q.weight[None].expand(stream.x.shape[0], -1, -1), stream.x], 1)
        stream.special += QUERIES

    def attended(self, x):
        """Scores of a query outside of the query's mask are dropped, as in training."""
        masks, _ = self.masks(self.norm(x))
        inside = F.interpolate(masks, self.grid, mode="bilinear").flatten(2) > 0
        allowed = torch.ones(x.shape[0], x.shape[1], x.shape[1], dtype=torch.bool)
        allowed = torch.cat([torch.cat([allowed[:, :QUERIES, :-inside.shape[2]], inside], 2), allowed[:, QUERIES:]], 1)
        return torch.where(allowed, 0.0, -1e9)[:, None]

    def run(self, image, schedule=()):
        x = image if self.mean is None else (image - self.mean) / self.std
        stream = Tokens(self.embed(x), self.special, schedule)
        for k, block in enumerate(self.blocks):
            if k == len(self.blocks) - self.joined:
                self.join(stream)
            stream.before(k)
            if self.masked and k >= len(self.blocks) - self.joined:
                x = stream.x
                x = x + block.attn(block.norm1(x), stream, self.attended(x))
                stream.x = x + block.mlp(block.norm2(x))
            else:
                stream.x = block(stream.x, stream)
        return self.predict(self.norm(stream.restored()), image), stream.map

    def predict(self, x, image):
        masks, classes = self.masks(x)
        if self.full is None:
            return masks, classes
        if self.full == "sigmoid_first":
            scores = torch.einsum("bqc,bqhw->bchw", classes.softmax(-1)[..., :-1], masks.sigmoid())
            return F.interpolate(scores, image.shape[2:], mode="bilinear")
        masks = F.interpolate(masks, image.shape[2:], mode="bilinear")
        return torch.einsum("bqhw,bqc->bchw", masks.sigmoid(), classes.softmax(-1)[..., :-1])


class Injected(Vit):
    """As ViT-Adapter: features of the image are added to the tokens between groups of blocks, whose results are given out."""

    def __init__(self, cuts=(2, 4), special=1, kind="features"):
        super().__init__(blocks(), special=special)
        self.cuts, self.kind = cuts, kind
        self.stem = nn.Conv2d(3, DIM, PATCH, PATCH)
        self.inject = nn.ModuleList([nn.Linear(DIM, DIM) for _ in cuts])
        self.gamma = nn.ParameterList([nn.Parameter(torch.rand(DIM)) for _ in cuts])
        self.replaced = nn.Parameter(torch.randn(1, 1, DIM))

    def added(self, stream, rows):
        """rows [1, N, D]: a merged token gets the mean over the members."""
        if stream.map is not None:
            count = int(stream.map.max()) + 1
            sums = torch.zeros(count, DIM).index_add_(0, stream.map, rows[0])
            rows = (sums / torch.bincount(stream.map)[:, None])[None]
        e = stream.special
        image = stream.x[:, e:] + rows
        stream.x = torch.cat([stream.x[:, :e], image], 1) if e else image

    def run(self, image, schedule=()):
        stream = Tokens(self.embed(image), self.special, schedule)
        features = self.stem(image).flatten(2).transpose(1, 2)
        ends = []
        for k, block in enumerate(self.blocks):
            if k in self.cuts:
                at = self.cuts.index(k)
                ends.append(stream.restored()[:, self.special:])
                if self.kind == "features":
                    self.added(stream, self.gamma[at] * F.gelu(self.inject[at](features)))
                elif self.kind == "replaced":
                    stream.x = torch.cat([self.replaced.expand(stream.x.shape[0], -1, -1), stream.x[:, 1:]], 1)
            stream.before(k)
            stream.x = block(stream.x, stream)
        x = self.norm(stream.restored())
        return (x, *ends) if self.kind == "features" else x, stream.map


class Changing(Vit):
    """Queries and keys are normalised from some block on, as in Depth Anything 3."""

    def __init__(self, at=3):
        super().__init__(blocks())
        for block in self.blocks[at:]:
            block.attn.qn, block.attn.kn = nn.LayerNorm(DIM // HEADS), nn.LayerNorm(DIM // HEADS)


class Differing(Vit):
    """The first block has another activation than the rest."""

    def __init__(self):
        super().__init__(blocks())
        self.blocks[0].mlp.act = "relu"


class Convolved(Injected):
    """A depthwise convolution of the tokens themselves is added between two blocks."""

    def __init__(self):
        super().__init__(cuts=(4,), special=0, kind="none")
        self.between = nn.Conv2d(DIM, DIM, 3, 1, 1, groups=DIM)

    def run(self, image, schedule=()):
        stream = Tokens(self.embed(image), self.special, schedule)
        for k, block in enumerate(self.blocks):
            if k == 4:
                x = stream.restored().transpose(1, 2).reshape(-1, DIM, *self.grid)
                self.added(stream, self.between(x).flatten(2).transpose(1, 2))
            stream.before(k)
            stream.x = block(stream.x, stream)
        return self.norm(stream.restored()), stream.map


class Behind(Injected):
    """Class tokens behind the image tokens from some block on, as in a decoder of the same width."""

    def __init__(self):
        super().__init__(cuts=(4,), kind="none")
        self.behind = nn.Parameter(torch.randn(1, CLASSES, DIM))

    def run(self, image, schedule=()):
        stream = Tokens(self.embed(image), self.special, schedule)
        behind = None
        for k, block in enumerate(self.blocks):
            stream.before(k)
            if k >= 4:
                behind = self.behind.expand(image.shape[0], -1, -1) if behind is None else behind
                rows = stream.x.shape[1]
                x = block(torch.cat([stream.x, behind], 1))
                stream.x, behind = x[:, :rows], x[:, rows:]
            else:
                stream.x = block(stream.x, stream)
        return self.norm(torch.cat([stream.restored(), behind], 1)), stream.map


class Yolos(Vit):
    """Detection tokens behind the image tokens from the start."""

    def __init__(self):
        super().__init__(blocks(style="hf", scale="div"))
        self.detection = nn.Parameter(torch.randn(1, 4, DIM))
        self.boxes = nn.Linear(DIM, 4)

    def run(self, image, schedule=()):
        stream, count = Tokens(self.embed(image), self.special, schedule), self.detection.shape[1]
        x = torch.cat([stream.x, self.detection.expand(image.shape[0], -1, -1)], 1)
        for k, block in enumerate(self.blocks):
            if k in schedule:
                stream.x = x[:, :-count]
                stream.before(k)
                x = torch.cat([stream.x, x[:, -count:]], 1)
            x = block(x)
        stream.x = x[:, :-count]
        x = self.norm(torch.cat([stream.restored(), x[:, -count:]], 1) if schedule else x)
        return (x, self.boxes(x[:, -count:]).sigmoid()), stream.map


class RmsNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, weight_last=False):
        super().__init__()
        self.weight, self.eps, self.weight_last = nn.Parameter(torch.rand(dim) + 0.5), eps, weight_last

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return y * self.weight if self.weight_last else self.weight * y


class RmsVit(Vit):
    """AIMv2: RMSNorm everywhere, a gated MLP without biases."""

    def __init__(self, qk=False):
        def make():
            block = Block(Attention(bias=False), Mlp(kind="gated", act="silu"))
            block.norm1, block.norm2 = RmsNorm(DIM), RmsNorm(DIM, weight_last=True)
            if qk:
                block.attn.qn, block.attn.kn = RmsNorm(DIM // HEADS), RmsNorm(DIM // HEADS)
            return block

        super().__init__(make, special=0)
        self.norm = RmsNorm(DIM)


class Aimv2(RmsVit):
    """The whole model as transformers has it: a norm between patches and positions, and a head that pools by attention."""

    def __init__(self):
        super().__init__()
        self.patch_norm = RmsNorm(DIM, 1e-5)
        self.query = nn.Parameter(torch.randn(1, 1, DIM))
        self.k, self.v = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.out = nn.Linear(DIM, DIM)

    def embed(self, image):
        return self.patch_norm(self.patch(image).flatten(2).transpose(1, 2)) + self.pos_embed

    def decode(self, x, tapped, image):
        b, n, _ = x.shape
        k, v = (f(x).view(b, n, HEADS, -1).transpose(1, 2) for f in (self.k, self.v))
        q = self.query.expand(b, -1, -1).reshape(b, 1, HEADS, -1).transpose(1, 2) * (DIM // HEADS) ** -0.5
        pooled = ((q @ k.transpose(-2, -1)).softmax(-1) @ v).transpose(1, 2).reshape(b, 1, DIM)
        return self.out(pooled.mean(1)), x


class ParallelBlock(Block):
    """Attention and MLP read the same tokens; with 1 norm or with 2."""

    def __init__(self, attention, mlp, norms=1):
        super().__init__(attention, mlp)
        if norms == 1:
            self.norm2 = self.norm1

    def forward(self, x, stream=None):
        return x + self.attn(self.norm1(x), stream) + self.mlp(self.norm2(x))


class JoinedBlock(nn.Module):
    """As in timm's ParallelScalingBlock: a product before, with the MLP's columns in front, and a sum of both results."""

    def __init__(self, hidden=96, scaled=False):
        super().__init__()
        self.hidden, self.norm = hidden, nn.LayerNorm(DIM)
        self.scale = nn.Parameter(torch.randn(DIM)) if scaled else 1
        self.inward = nn.Linear(DIM, hidden + 3 * DIM)
        self.qn, self.kn = nn.LayerNorm(DIM // HEADS), nn.LayerNorm(DIM // HEADS)
        self.proj, self.fc2 = nn.Linear(DIM, DIM), nn.Linear(hidden, DIM)

    def forward(self, x, stream=None):
        b, n, _ = x.shape
        h, q, k, v = torch.split(self.inward(self.norm(x)), [self.hidden, DIM, DIM, DIM], -1)
        q, k, v = (t.view(b, n, HEADS, DIM // HEADS).transpose(1, 2) for t in (q, k, v))
        a = ((self.qn(q) * (DIM // HEADS) ** -0.5) @ self.kn(k).transpose(-2, -1)).softmax(-1)
        return x + self.scale * (self.proj((a @ v).transpose(1, 2).reshape(b, n, DIM)) + self.fc2(F.gelu(h)))


ROPE = {"style": "hf", "layer_scale": True}

CASES = {
    # name: (model, opset, dynamic axes, batch)
    "eomt": (lambda: Eomt(blocks(layer_scale=True)), 17, "", 1),
    "eomt_dynamic": (lambda: Eomt(blocks(layer_scale=True), normalise=True), 17, "b", 2),
    "eomt_hf": (lambda: Eomt(blocks(style="hf", scale="div", layer_scale=True)), 14, "b", 2),
    "eomt_two_scales": (lambda: Eomt(blocks(), scales=2), 16, "", 1),
    "eomt_batch2": (lambda: Eomt(blocks(), special=1, joined=4), 13, "", 2),
    "eomt_early": (lambda: Eomt(blocks(), joined=6), 17, "b", 2),
    "eomt_dinov3": (lambda: Eomt(blocks(rope=(5, True, False), **ROPE), pos="none", joined=0), 17, "", 1),
    "eomt_full": (lambda: Eomt(blocks(), full="scores"), 17, "", 1),
    "eomt_full_dynamic": (lambda: Eomt(blocks(), full="sigmoid_first"), 17, "b", 2),
    "injected": (Injected, 17, "", 1),
    "injected_dynamic": (lambda: Injected(cuts=(2, 5)), 14, "b", 2),
    "injected_no_special": (lambda: Injected(cuts=(3,), special=0), 17, "b", 2),
    "row_replaced": (lambda: Injected(cuts=(3,), kind="replaced"), 17, "b", 2),
    "norms_from_block_3": (Changing, 17, "b", 2),
    "activation_differs": (Differing, 13, "b", 2),
    "convolved_between": (Convolved, 17, "b", 2),
    "tokens_behind": (Behind, 17, "b", 2),
    "yolos": (Yolos, 17, "", 1),
    "yolos_dynamic": (Yolos, 14, "b", 2),
    "rms_norm": (RmsVit, 17, "", 1),
    "rms_norm_heads": (lambda: RmsVit(qk=True), 14, "b", 2),
    "aimv2": (Aimv2, 17, "", 1),
    "aimv2_dynamic": (Aimv2, 14, "b", 2),
    "parallel": (lambda: Vit(lambda: ParallelBlock(Attention(), Mlp())), 17, "", 1),
    "parallel_two_norms": (lambda: Vit(lambda: ParallelBlock(Attention(), Mlp(), norms=2)), 14, "b", 2),
    "parallel_joined": (lambda: Vit(JoinedBlock), 17, "b", 2),
    "parallel_scaled": (lambda: Vit(lambda: JoinedBlock(scaled=True)), 17, "b", 2),
}


class QueryRope(Rope):
    """Queries joined in front have no angle, like the special tokens behind them."""

    def forward(self, x, stream):
        self.special = stream.special
        return super().forward(x, stream)


def dinov3_eomt(**options):
    def make():
        return Block(Attention(style="hf", rope=QueryRope(5, True, False)), Mlp(), layer_scale=True)

    return Eomt(make, pos="none", **options)


CASES["eomt_dinov3"] = (dinov3_eomt, 17, "", 1)
CASES["eomt_dinov3_dynamic"] = (lambda: dinov3_eomt(joined=2), 17, "b", 2)

# Weights, constants, inputs and outputs in half precision; references in f32 with the rounded weights.
HALF = {
    "eomt_half": CASES["eomt"],
    "eomt_half_dynamic": CASES["eomt_dynamic"],
    "eomt_half_dinov3": CASES["eomt_dinov3"],
    "eomt_half_full": CASES["eomt_full"],
}
CASES.update(HALF)

REFUSED = {
    "eomt_masked": (lambda: Eomt(blocks(style="hf", scale="div"), masked=True), "masked attention"),
}


def main():
    out, *wanted = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    make_exports.CASES = CASES
    for name in CASES:
        if not wanted or name in wanted:
            make_exports.make(name, out, half=name in HALF)
            print("made", name)
    for name, (build, word) in REFUSED.items():
        if wanted and name not in wanted:
            continue
        torch.manual_seed(1)
        make_exports.export(build(), torch.rand(1, 3, *SIZE), os.path.join(out, name + ".onnx"), 13, "")
        open(os.path.join(out, name + ".refused"), "w").write(word)


if __name__ == "__main__":
    main()
