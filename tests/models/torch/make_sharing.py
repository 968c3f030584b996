"""Token sharing (CTS) written from the definition in PyTorch, with random weights; independent of the program under test.

make_sharing.py FOLDER writes
  checkpoint.pth                                    a Segmenter (mask transformer, 128x192)
  policy.pt, equal.pt                               policies; of the second all scores are equal
  expected.npz                                      `images` [2, 3, H, W] and for POLICY in (policy, equal) and S in 0, 1, 7,
                                                    23, 24: POLICY_S_map [2, N] and POLICY_S_logits [2, 7, H, W]
"""
import json
import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

from make_weights import PATCH, block, head_weights, norm, prefixed, vit_weights

HEIGHT, WIDTH, CLASSES = 128, 192, 7
ROWS, COLUMNS = HEIGHT // PATCH, WIDTH // PATCH
# in, out, expansion, kernel, stride; the first convolution has 12 filters of 3x3 and stride 2
BLOCKS = [(12, 24, 2, 3, 2), (24, 32, 4, 3, 2), (32, 32, 4, 3, 1), (32, 64, 4, 5, 2), (64, 64, 3, 5, 1), (64, 112, 4, 5, 2),
          (112, 112, 3, 5, 1)]


def layer_weights(state, name, out, inside, kernel, g):
    state[f"{name}.conv.weight"] = torch.randn(out, inside, kernel, kernel, generator=g) * (2 / inside / kernel**2) ** 0.5
    state[f"{name}.norm.weight"] = 1 + 0.2 * torch.randn(out, generator=g)
    state[f"{name}.norm.bias"] = 0.3 * torch.randn(out, generator=g)
    state[f"{name}.norm.running_mean"] = 0.2 * torch.randn(out, generator=g)
    state[f"{name}.norm.running_var"] = 0.5 + torch.rand(out, generator=g)


def policy_weights(seed, equal):
    g = torch.Generator().manual_seed(seed)
    state = {}
    layer_weights(state, "policy.stem", 12, 3, 3, g)
    for i, (inside, out, expansion, kernel, _) in enumerate(BLOCKS):
        wide = inside * expansion
        layer_weights(state, f"policy.blocks.{i}.expand", wide, inside, 1, g)
        layer_weights(state, f"policy.blocks.{i}.depthwise", wide, 1, kernel, g)
        layer_weights(state, f"policy.blocks.{i}.project", out, wide, 1, g)
    # The weights are small, because the softmax of large logits is 0 or 1 even if the logits differ.
    state["policy.head.weight"] = torch.zeros(2, 112, 1, 1) if equal else 0.02 * torch.randn(2, 112, 1, 1, generator=g)
    state["policy.head.bias"] = torch.zeros(2) if equal else torch.randn(2, generator=g)
    return state


def policy_scores(state, images):
    def layer(x, name, kernel, stride, groups, active):
        x = F.conv2d(x, state[f"{name}.conv.weight"], None, stride, kernel // 2, 1, groups)
        x = F.batch_norm(x, *(state[f"{name}.norm.{part}"] for part in ("running_mean", "running_var", "weight", "bias")))
        return F.relu6(x) if active else x

    x = layer(images, "policy.stem", 3, 2, 1, True)
    for i, (inside, out, expansion, kernel, stride) in enumerate(BLOCKS):
        wide = inside * expansion
        y = layer(x, f"policy.blocks.{i}.expand", 1, 1, 1, True)
        y = layer(y, f"policy.blocks.{i}.depthwise", kernel, stride, wide, True)
        y = layer(y, f"policy.blocks.{i}.project", 1, 1, 1, False)
        x = x + y if inside == out and stride == 1 else y
    x = F.conv2d(x, state["policy.head.weight"], state["policy.head.bias"])
    return F.softmax(x.double(), 1)[:, 1]


def chosen(scores, count):
    """Superpatches (row, column) of an image that share: best first, then in reading order."""
    order = sorted(range(scores.numel()), key=lambda i: (-float(scores.flatten()[i]), i))
    return {divmod(i, scores.shape[1]) for i in order[:count]}


def one_image(s, image, shares):
    """Map and logits; tokens in the authors' order: patches that do not share, then shared superpatches."""
    w, b = s["encoder.patch_embed.proj.weight"], s["encoder.patch_embed.proj.bias"]
    fine = F.conv2d(image[None], w, b, PATCH)[0]
    half = F.interpolate(image[None], scale_factor=0.5, mode="bilinear", align_corners=False)
    coarse = F.conv2d(half, w, b, PATCH)[0]
    positions = s["encoder.pos_embed"][0, 1:].t().reshape(-1, ROWS, COLUMNS)
    rows, place = [s["encoder.cls_token"][0, 0] + s["encoder.pos_embed"][0, 0]], {}
    for y in range(ROWS):
        for x in range(COLUMNS):
            if (y // 2, x // 2) not in shares:
                place[y, x] = len(rows)
                rows.append(fine[:, y, x] + positions[:, y, x])
    for y, x in sorted(shares):
        for patch in ((2 * y + i, 2 * x + j) for i in range(2) for j in range(2)):
            place[patch] = len(rows)
        four = positions[:, 2 * y:2 * y + 2, 2 * x:2 * x + 2]
        rows.append(coarse[:, y, x] + four.mean((1, 2)))
    tokens = torch.stack(rows)[None]
    depth = len([name for name in s if name.startswith("encoder.blocks.") and name.endswith("attn.qkv.weight")])
    for i in range(depth):
        tokens = block(tokens, s, f"encoder.blocks.{i}")
    tokens = norm(tokens, s, "encoder.norm")[:, 1:]
    x = torch.cat([F.linear(tokens, s["decoder.proj_dec.weight"], s["decoder.proj_dec.bias"]), s["decoder.cls_emb"]], 1)
    for i in range(len([name for name in s if name.startswith("decoder.blocks.") and name.endswith("attn.qkv.weight")])):
        x = block(x, s, f"decoder.blocks.{i}")
    x = norm(x, s, "decoder.decoder_norm")
    patches, classes = x[:, :-CLASSES] @ s["decoder.proj_patch"], x[:, -CLASSES:] @ s["decoder.proj_classes"]
    scores = F.normalize(patches, dim=-1) @ F.normalize(classes, dim=-1).transpose(1, 2)
    scores = F.layer_norm(scores, (CLASSES,), s["decoder.mask_norm.weight"], s["decoder.mask_norm.bias"])[0]
    ids, first, grid = {}, [], torch.zeros(CLASSES, ROWS, COLUMNS)
    for y in range(ROWS):
        for x in range(COLUMNS):
            first.append(ids.setdefault(place[y, x], len(ids)))
            grid[:, y, x] = scores[place[y, x] - 1]
    return first, F.interpolate(grid[None], (HEIGHT, WIDTH), mode="bilinear", align_corners=False)[0]


def write_policy(path, state):
    options = json.dumps({"policy": "mbconv 1", "mean": [0.5] * 3, "std": [0.5] * 3})
    header, at = {"__metadata__": {"format": "mpm-models 2", "options": options}}, 0
    for name, tensor in state.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in state.values():
            file.write(tensor.contiguous().numpy().astype("<f4").tobytes())


def main(folder):
    backbone, head = vit_weights(ROWS * COLUMNS, False, 31), head_weights(CLASSES, 34)
    weights = {**prefixed("encoder.", backbone), **prefixed("decoder.", head)}
    torch.save({"model": weights}, os.path.join(folder, "checkpoint.pth"))
    images = torch.randn(2, 3, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(32))
    out = {"images": images}
    for name, equal in (("policy", False), ("equal", True)):
        state = policy_weights(33, equal)
        write_policy(os.path.join(folder, name + ".pt"), state)
        scores = policy_scores(state, images)
        for count in (0, 1, 7, 23, 24):
            results = [one_image(weights, image, chosen(score, count)) for image, score in zip(images, scores)]
            out[f"{name}_{count}_map"] = torch.tensor([found[0] for found in results])
            out[f"{name}_{count}_logits"] = torch.stack([found[1] for found in results])
    np.savez(os.path.join(folder, "expected.npz"), **{name: tensor.numpy() for name, tensor in out.items()})


if __name__ == "__main__":
    torch.set_num_threads(1)
    with torch.no_grad():
        main(sys.argv[1])
