"""Random weights as other frameworks save them, and what a model of theirs computes with them.

make_weights.py FOLDER writes
  segmenter/checkpoint.pth, segmenter/variant.yml   Segmenter (mask transformer, 64x96, ImageNet's mean and deviation)
  ade20k/checkpoint.pth, ade20k/variant.yml         the same with the 150 classes of ADE20K
  linear.pth                                        Segmenter with a linear head, square
  deit.pth                                          a distilled DeiT backbone, {"model": ...}
  vit.safetensors                                   a timm backbone
  jax.npz                                           a ViT as JAX keeps it
and for each NAME.expected.npz with `image` [1, 3, H, W] and `out`: masks of the Segmenters, tokens of the backbones.
Written from the architecture's definition, independent of the program under test.
"""
import json
import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

DIM, HEADS, DEPTH, PATCH = 128, 2, 3, 16


def norm_weights(state, name, generator):
    state[name + ".weight"] = 1 + 0.1 * torch.randn(DIM, generator=generator)
    state[name + ".bias"] = 0.1 * torch.randn(DIM, generator=generator)


def linear_weights(state, name, out, inside, generator):
    state[name + ".weight"] = torch.randn(out, inside, generator=generator) * inside**-0.5
    state[name + ".bias"] = 0.1 * torch.randn(out, generator=generator)


def block_weights(state, name, generator):
    norm_weights(state, name + ".norm1", generator)
    norm_weights(state, name + ".norm2", generator)
    linear_weights(state, name + ".attn.qkv", 3 * DIM, DIM, generator)
    linear_weights(state, name + ".attn.proj", DIM, DIM, generator)
    linear_weights(state, name + ".mlp.fc1", 4 * DIM, DIM, generator)
    linear_weights(state, name + ".mlp.fc2", DIM, 4 * DIM, generator)


def vit_weights(places, distilled, seed):
    g = torch.Generator().manual_seed(seed)
    state = {"cls_token": torch.randn(1, 1, DIM, generator=g)}
    if distilled:
        state["dist_token"] = torch.randn(1, 1, DIM, generator=g)
    state["pos_embed"] = torch.randn(1, places + 1 + distilled, DIM, generator=g)
    state["patch_embed.proj.weight"] = torch.randn(DIM, 3, PATCH, PATCH, generator=g) / 27
    state["patch_embed.proj.bias"] = torch.randn(DIM, generator=g)
    for i in range(DEPTH):
        block_weights(state, f"blocks.{i}", g)
    norm_weights(state, "norm", g)
    return state


def norm(x, s, name):
    return F.layer_norm(x, (DIM,), s[name + ".weight"], s[name + ".bias"])


def linear(x, s, name):
    return F.linear(x, s[name + ".weight"], s[name + ".bias"])


def block(x, s, name, heads=HEADS):
    b, n, d = x.shape
    q, k, v = linear(norm(x, s, name + ".norm1"), s, name + ".attn.qkv").view(b, n, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
    mixed = (q @ k.transpose(-1, -2) * (d // heads) ** -0.5).softmax(-1) @ v
    x = x + linear(mixed.transpose(1, 2).reshape(b, n, d), s, name + ".attn.proj")
    return x + linear(F.gelu(linear(norm(x, s, name + ".norm2"), s, name + ".mlp.fc1")), s, name + ".mlp.fc2")


def vit(image, s, heads=HEADS):
    x = F.conv2d(image, s["patch_embed.proj.weight"], s["patch_embed.proj.bias"], stride=PATCH).flatten(2).transpose(1, 2)
    front = [s[name] for name in ("cls_token", "dist_token") if name in s]
    x = torch.cat(front + [x], 1) + s["pos_embed"]
    for i in range(DEPTH):
        x = block(x, s, f"blocks.{i}", heads)
    return norm(x, s, "norm")


def mask_head(tokens, s, classes, grid):
    n = tokens.shape[1]
    x = torch.cat([linear(tokens, s, "proj_dec"), s["cls_emb"]], 1)
    for i in range(2):
        x = block(x, s, f"blocks.{i}")
    x = norm(x, s, "decoder_norm")
    patches, names = x[:, :n] @ s["proj_patch"], x[:, n:] @ s["proj_classes"]
    patches, names = patches / patches.norm(dim=-1, keepdim=True), names / names.norm(dim=-1, keepdim=True)
    masks = F.layer_norm(patches @ names.transpose(1, 2), (classes,), s["mask_norm.weight"], s["mask_norm.bias"])
    return masks.transpose(1, 2).reshape(1, classes, *grid)


def head_weights(classes, seed):
    g = torch.Generator().manual_seed(seed)
    s = {"cls_emb": torch.randn(1, classes, DIM, generator=g)}
    s["proj_patch"] = torch.randn(DIM, DIM, generator=g) * DIM**-0.5
    s["proj_classes"] = torch.randn(DIM, DIM, generator=g) * DIM**-0.5
    linear_weights(s, "proj_dec", DIM, DIM, g)
    for i in range(2):
        block_weights(s, f"blocks.{i}", g)
    norm_weights(s, "decoder_norm", g)
    s["mask_norm.weight"], s["mask_norm.bias"] = torch.randn(classes, generator=g), torch.randn(classes, generator=g)
    return s


def prefixed(prefix, state):
    return {prefix + name: value for name, value in state.items()}


def expect(folder, name, image, out):
    np.savez(os.path.join(folder, name + ".expected.npz"), image=image.numpy(), out=out.numpy())


def segmenter(folder, g, name, classes):
    # The backbone has four heads of 32 values; only variant.yml has this number. The decoder has two heads of 64.
    backbone, head = vit_weights(4 * 6, False, 1), head_weights(classes, 2)
    os.makedirs(os.path.join(folder, name))
    model = {**prefixed("encoder.", backbone), **prefixed("decoder.", head)}
    model["encoder.head.weight"] = torch.zeros(10, DIM)  # Segmenter keeps timm's classifier
    torch.save({"model": model, "epoch": 63, "optimizer": {"lr": 1e-3}}, os.path.join(folder, name, "checkpoint.pth"))
    with open(os.path.join(folder, name, "variant.yml"), "w") as file:
        file.write(f"""algorithm:
  batch_size: 8
dataset_kwargs:
  dataset: ade20k
  image_size: 64
net_kwargs:
  backbone: vit_tiny_patch16_384
  d_model: {DIM}
  decoder:
    drop_path_rate: 0.0
    n_cls: {classes}
    n_layers: 2
    name: mask_transformer
  image_size: !!python/tuple
  - 64
  - 96
  n_heads: 4
  n_layers: {DEPTH}
  normalization: deit
  patch_size: {PATCH}
  n_cls: {classes}
""")
    image = torch.randn(1, 3, 64, 96, generator=g)
    expect(folder, name, image, mask_head(vit(image, backbone, 4)[:, 1:], head, classes, (4, 6)))


def linear_segmenter(folder, g):
    backbone, head = vit_weights(16, False, 3), {}
    linear_weights(head, "head", 5, DIM, g)
    torch.save({"model": {**prefixed("encoder.", backbone), **prefixed("decoder.", head)}}, os.path.join(folder, "linear.pth"))
    image = torch.randn(1, 3, 64, 64, generator=g)
    expect(folder, "linear", image, linear(vit(image, backbone)[:, 1:], head, "head").transpose(1, 2).reshape(1, 5, 4, 4))


def backbones(folder, g):
    image = torch.randn(1, 3, 64, 64, generator=g)
    distilled = vit_weights(16, True, 4)
    torch.save({"model": {**distilled, "head.weight": torch.zeros(10, DIM), "head_dist.bias": torch.zeros(10)}},
               os.path.join(folder, "deit.pth"))
    expect(folder, "deit", image, vit(image, distilled))
    plain = vit_weights(16, False, 5)
    save_safetensors({**plain, "head.weight": torch.zeros(10, DIM)}, os.path.join(folder, "vit.safetensors"))
    expect(folder, "vit", image, vit(image, plain))


def save_safetensors(state, path):
    try:
        from safetensors.torch import save_file
        return save_file(state, path)
    except ImportError:  # Debian 12 has no package of it; the format is a length, a JSON header and the data
        header, data = {}, b""
        for name, tensor in state.items():
            raw = tensor.contiguous().numpy().tobytes()
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)


def jax(folder, g):
    """The same arithmetic with JAX's layouts: kernels [in, out], heads apart."""
    s, head = vit_weights(16, False, 6), DIM // HEADS
    out = {"cls": s["cls_token"], "Transformer/posembed_input/pos_embedding": s["pos_embed"],
           "embedding/kernel": s["patch_embed.proj.weight"].permute(2, 3, 1, 0), "embedding/bias": s["patch_embed.proj.bias"],
           "Transformer/encoder_norm/scale": s["norm.weight"], "Transformer/encoder_norm/bias": s["norm.bias"],
           "head/kernel": torch.zeros(DIM, 10)}
    for i in range(DEPTH):
        to, of = f"Transformer/encoderblock_{i}/", f"blocks.{i}."
        for theirs, ours in (("LayerNorm_0", "norm1"), ("LayerNorm_2", "norm2")):
            out[to + theirs + "/scale"], out[to + theirs + "/bias"] = s[of + ours + ".weight"], s[of + ours + ".bias"]
        for theirs, ours in (("MlpBlock_3/Dense_0", "mlp.fc1"), ("MlpBlock_3/Dense_1", "mlp.fc2")):
            out[to + theirs + "/kernel"], out[to + theirs + "/bias"] = s[of + ours + ".weight"].t(), s[of + ours + ".bias"]
        attention = to + "MultiHeadDotProductAttention_1/"
        for p, part in enumerate(("query", "key", "value")):
            rows = slice(p * DIM, (p + 1) * DIM)
            out[attention + part + "/kernel"] = s[of + "attn.qkv.weight"][rows].t().reshape(DIM, HEADS, head)
            out[attention + part + "/bias"] = s[of + "attn.qkv.bias"][rows].reshape(HEADS, head)
        out[attention + "out/kernel"] = s[of + "attn.proj.weight"].t().reshape(HEADS, head, DIM)
        out[attention + "out/bias"] = s[of + "attn.proj.bias"]
    np.savez(os.path.join(folder, "jax.npz"), **{name: value.contiguous().numpy() for name, value in out.items()})
    image = torch.randn(1, 3, 64, 64, generator=g)
    expect(folder, "jax", image, vit(image, s))


if __name__ == "__main__":
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(0)
    segmenter(sys.argv[1], g, "segmenter", 7)
    linear_segmenter(sys.argv[1], g)
    backbones(sys.argv[1], g)
    jax(sys.argv[1], g)
    segmenter(sys.argv[1], g, "ade20k", 150)
