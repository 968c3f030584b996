#!/usr/bin/env python3
"""Vision transformers with random weights as PyTorch exports them, for timing beside other runtimes.

    make_models.py OUT_DIR NAME...        NAME: vit-t, vit-s, vit-b, vit-b-8 (features), segmenter-t (150 classes),
                                      eomt-s (640x640, 200 queries), eomt-s-512, eomt-l (100 queries); of timm: dinov3-s;
                                      of transformers: depth-s (Depth Anything, 518x518), upernet-b (150 classes, 10
                                      blocks are used); of make_adapter.py: adapter-s (Mask2Former)

Images are 512x512 and patches 16x16, unless the list or the name has another size; batch 1. Needs torch (Debian: python3-torch).
"""
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, PATCH, CLASSES = 512, 16, 150
DIMS = {"t": 192, "s": 384, "b": 768, "l": 1024}


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.heads, self.scale = dim // 64, 64 ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(dim, eps=1e-6), Attention(dim), nn.LayerNorm(dim, eps=1e-6)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Backbone(nn.Module):
    def __init__(self, dim, patch=PATCH, size=SIZE, depth=12):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        # As with trained filters, patches of similar colours give similar tokens, so each merge leaves about three
        # quarters of the tokens.
        with torch.no_grad():
            self.patch.weight.copy_((torch.randn(dim, 3, 1, 1) * 0.05).expand_as(self.patch.weight))
        self.cls = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, dim) * 0.05)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)

    def embed(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        return torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos

    def forward(self, image):
        x = self.embed(image)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Segmenter(nn.Module):
    """Backbone and Mask Transformer; masks are enlarged to the image's size."""

    def __init__(self, dim):
        super().__init__()
        self.backbone = Backbone(dim)
        self.decode, self.cls = nn.Linear(dim, dim), nn.Parameter(torch.randn(1, CLASSES, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(2))
        self.norm, self.mask_norm = nn.LayerNorm(dim), nn.LayerNorm(CLASSES)
        self.patches, self.classes = nn.Parameter(torch.randn(dim, dim) * dim ** -0.5), nn.Parameter(
            torch.randn(dim, dim) * dim ** -0.5)

    def forward(self, image):
        x = self.decode(self.backbone(image)[:, 1:])
        x = torch.cat([x, self.cls.expand(x.shape[0], -1, -1)], dim=1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        patches, classes = x[:, :-CLASSES] @ self.patches, x[:, -CLASSES:] @ self.classes
        patches, classes = F.normalize(patches, dim=-1), F.normalize(classes, dim=-1)
        masks = self.mask_norm(patches @ classes.transpose(1, 2))
        masks = masks.transpose(1, 2).reshape(x.shape[0], CLASSES, SIZE // PATCH, SIZE // PATCH)
        return F.interpolate(masks, size=(SIZE, SIZE), mode="bilinear", align_corners=False)


class ScaleBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.larger = nn.ConvTranspose2d(dim, dim, 2, 2)
        self.mix = nn.Conv2d(dim, dim, 3, padding=1, groups=dim, bias=False)
        self.norm = nn.LayerNorm(dim, eps=1e-6)

    def forward(self, x):
        return self.norm(self.mix(F.gelu(self.larger(x))).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Eomt(nn.Module):
    """Queries join the tokens before the last blocks. Gives masks at a quarter of the image's size, and classes."""

    def __init__(self, width, size=0):
        super().__init__()
        dim, self.large = DIMS[width], width == "l"
        self.size, self.queries, self.joined = (SIZE, 100, 4) if self.large else (size or 640, 100 if size else 200, 3)
        self.backbone = Backbone(dim, size=self.size, depth=24 if self.large else 12)
        self.query = nn.Parameter(torch.randn(1, self.queries, dim) * 0.02)
        self.classes = nn.Linear(dim, CLASSES + 1)
        self.masks = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.upscale = nn.Sequential(ScaleBlock(dim), ScaleBlock(dim))

    def forward(self, image):
        x = self.backbone.embed(image)
        blocks = self.backbone.blocks
        for k, block in enumerate(blocks):
            if k == len(blocks) - self.joined:
                x = torch.cat([self.query.expand(x.shape[0], -1, -1), x], dim=1)
            x = block(x)
        x = self.backbone.norm(x)
        queries, side = x[:, :self.queries], self.size // PATCH
        image = x[:, self.queries + 1:].transpose(1, 2).reshape(x.shape[0], -1, side, side)
        return torch.einsum("bqc,bchw->bqhw", self.masks(queries), self.upscale(image)), self.classes(queries)


class Library(nn.Module):
    """A model of the package `transformers`, reduced to a single output."""

    def __init__(self, model, size, output):
        super().__init__()
        self.model, self.size, self.output = model, size, output

    def forward(self, image):
        return getattr(self.model(image), self.output)


class Features(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        return self.model.forward_features(image)


def library(kind, dim):
    if kind == "dinov3":
        import timm
        return Features(timm.create_model("vit_small_patch16_dinov3", img_size=SIZE, num_classes=0))
    import transformers
    heads, hidden = dim // 64, 4 * dim
    if kind == "depth":
        backbone = transformers.Dinov2Config(
            hidden_size=dim, num_attention_heads=heads, num_hidden_layers=12, image_size=518, patch_size=14, apply_layernorm=True,
            out_features=[f"stage{k}" for k in (3, 6, 9, 12)], reshape_hidden_states=False)
        config = transformers.DepthAnythingConfig(
            backbone_config=backbone, patch_size=14, reassemble_hidden_size=dim, fusion_hidden_size=64,
            neck_hidden_sizes=[48, 96, 192, 384])
        return Library(transformers.DepthAnythingForDepthEstimation(config), 518, "predicted_depth")
    # BEiT's code with absolute positions is a plain ViT; a pyramid and UPerNet follow.
    config = transformers.BeitConfig(
        hidden_size=dim, num_attention_heads=heads, intermediate_size=hidden, image_size=512, out_indices=[3, 5, 7, 11],
        num_labels=150, use_absolute_position_embeddings=True, use_auxiliary_head=False)
    return Library(transformers.BeitForSemanticSegmentation(config), 512, "logits")


def made(name):
    kind, width, *patch = name.split("-")
    if kind in ("depth", "upernet", "dinov3"):
        return library(kind, DIMS[width]), ["output"]
    if kind == "eomt":
        return Eomt(width, *map(int, patch)), ["masks", "classes"]
    return (Segmenter if kind == "segmenter" else Backbone)(DIMS[width], *map(int, patch)), ["output"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out, names = sys.argv[1], sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        model, outputs = made(name)
        size = getattr(model, "size", SIZE)
        with torch.no_grad():
            torch.onnx.export(model.eval(), torch.randn(1, 3, size, size), os.path.join(out, name + ".onnx"),
                              opset_version=18 if torch.__version__ >= "2" else 17, input_names=["input"],
                              output_names=outputs)
        print(name)


if __name__ == "__main__":
    main()
