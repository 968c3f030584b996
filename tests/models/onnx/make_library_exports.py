#!/usr/bin/env python3
"""Small random-weight models out of torchvision and Hugging Face transformers, with references for the converter's tests.

    make_library_exports.py OUT_DIR [NAME...]

writes what make_exports.py writes. Merging is put around the libraries' own blocks: each takes and gives all
tokens, and sees one row for each cluster inside, so that features tapped anywhere come out restored.
Needs PyTorch 2, torchvision, numpy; transformers where its models are wanted (Debian: python3-torch python3-torchvision
python3-numpy python3-transformers).
"""
import inspect
import os
import sys
import warnings

import numpy as np
import torch
import torch.nn as nn

from make_exports import pair_up, spread

warnings.filterwarnings("ignore")
SIZE, PATCH, DIM, HEADS, DEPTH = (64, 96), 8, 48, 3, 7
COMMON = {"hidden_size": DIM, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS, "intermediate_size": 96,
          "patch_size": PATCH, "image_size": SIZE, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


class Merging:
    """Replaces the forward of each block: mutual pairs merge before those in the schedule."""

    def __init__(self, blocks, special, schedule):
        self.special, self.schedule, self.map, self.lead = special, schedule, None, None
        self.blocks = list(blocks)
        for k, block in enumerate(self.blocks):
            block.forward = self.around(k, block.forward)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for block in self.blocks:
            del block.forward

    def around(self, k, forward):
        def merged(*args, **kwargs):
            name = None if args else "hidden_states"
            x = self.enter(k, args[0] if args else kwargs[name])
            if self.lead is not None and kwargs.get("position_embeddings") is not None:
                kwargs["position_embeddings"] = tuple(t[..., self.lead, :] for t in kwargs["position_embeddings"])
            if name is None:
                return self.leave(forward(x, *args[1:], **kwargs))
            return self.leave(forward(**dict(kwargs, **{name: x})))
        return merged

    def enter(self, k, x):
        front, image = x[:, :self.special], x[:, self.special:]
        if self.lead is not None:
            image = image[:, self.lead]
        if k in self.schedule:
            image = self.merge(image)
        return torch.cat([front, image], 1)

    def merge(self, image):
        ids = pair_up(image[0])
        count = int(ids.max()) + 1
        mean = torch.zeros(count, image.shape[2]).index_add_(0, ids, image[0]) / torch.bincount(ids)[:, None]
        first = torch.stack([(ids == c).nonzero()[0, 0] for c in range(count)])
        self.lead = first if self.lead is None else self.lead[first]
        self.map = ids if self.map is None else ids[self.map]
        return mean[None]

    def leave(self, output):
        if self.map is None:
            return output
        x = output[0] if isinstance(output, tuple) else output
        x = torch.cat([x[:, :self.special], x[:, self.special:][:, self.map]], 1)
        return (x,) + output[1:] if isinstance(output, tuple) else x


class Picked(nn.Module):
    """A library's model with the outputs that matter as a plain tuple."""

    def __init__(self, model, pick):
        super().__init__()
        self.model, self.pick = model, pick

    def forward(self, image):
        return self.pick(self.model(image))


def vision(name, **options):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(**options)
    return make


def small_vit():
    import torchvision
    return torchvision.models.VisionTransformer(image_size=64, patch_size=8, num_layers=DEPTH, num_heads=HEADS,
                                                hidden_dim=DIM, mlp_dim=96, num_classes=10)


def face(model, config, pick=None, arguments=None, attention="sdpa", **options):
    """transformers' MODEL of CONFIG; options over the common ones."""
    def make():
        import transformers
        known = dict(COMMON, **options)
        settings = getattr(transformers, config)(**known)
        settings._attn_implementation = attention
        made = getattr(transformers, model)(settings, **(arguments or {}))
        return Picked(made, pick or (lambda y: y.last_hidden_state))
    return make


def segformer():
    import transformers
    return Picked(transformers.SegformerModel(transformers.SegformerConfig()), lambda y: y.last_hidden_state)


def logits(y):
    return y.logits


def layers_of(model):
    """The longest list of equal blocks."""
    lists = [m for m in model.modules() if isinstance(m, (nn.ModuleList, nn.Sequential)) and len(m) > 3]
    return max((m for m in lists if len({type(b) for b in m}) == 1), key=len)


CASES = {
    # name: (model, opset, dynamic batch, special tokens, size)
    "torchvision_small": (small_vit, 17, True, 1, (64, 64)),
    "torchvision_opset18": (small_vit, 18, False, 1, (64, 64)),
    "torchvision_vit_b_32": (vision("vit_b_32", image_size=128), 17, False, 1, (128, 128)),
    "hf_lib_vit": (face("ViTModel", "ViTConfig", arguments={"add_pooling_layer": False}), 17, True, 1, SIZE),
    "hf_lib_vit_eager": (face("ViTModel", "ViTConfig", arguments={"add_pooling_layer": False}, attention="eager"), 14, True, 1, SIZE),
    "hf_lib_vit_class": (face("ViTForImageClassification", "ViTConfig", pick=logits), 18, True, 1, SIZE),
    "hf_lib_deit": (face("DeiTModel", "DeiTConfig", arguments={"add_pooling_layer": False}), 17, True, 2, SIZE),
    "hf_lib_dinov2": (face("Dinov2Model", "Dinov2Config", mlp_ratio=2, image_size=64), 17, True, 1, (64, 64)),
    "hf_lib_dinov2_swiglu": (face("Dinov2Model", "Dinov2Config", mlp_ratio=2, image_size=64, use_swiglu_ffn=True), 17, False, 1, (64, 64)),
    "hf_lib_dinov2_registers": (face("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", mlp_ratio=2, image_size=64),
                                17, True, 5, (64, 64)),
    "hf_lib_dinov3": (face("DINOv3ViTModel", "DINOv3ViTConfig", num_register_tokens=4, image_size=64), 17, True, 5, SIZE),
    "hf_lib_dinov3_gated": (face("DINOv3ViTModel", "DINOv3ViTConfig", num_register_tokens=4, image_size=64, use_gated_mlp=True,
                                hidden_act="silu"),
                            18, False, 5, SIZE),
    "hf_lib_siglip": (face("SiglipVisionModel", "SiglipVisionConfig", image_size=64), 17, True, 0, (64, 64)),
    "hf_lib_clip": (face("CLIPVisionModel", "CLIPVisionConfig", image_size=64), 17, True, 1, (64, 64)),
    "hf_lib_ijepa": (face("IJepaModel", "IJepaConfig", arguments={"add_pooling_layer": False}), 17, True, 0, SIZE),
    "hf_lib_msn": (face("ViTMSNModel", "ViTMSNConfig"), 17, True, 1, SIZE),
    "hf_lib_dpt_depth": (face("DPTForDepthEstimation", "DPTConfig", pick=lambda y: y.predicted_depth, image_size=64, hidden_size=DIM,
                              backbone_out_indices=[1, 3, 4, 6], neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16,
                              is_hybrid=False), 17, False, 1, (64, 64)),
    "hf_lib_dpt_scores": (face("DPTForSemanticSegmentation", "DPTConfig", pick=logits, image_size=64, backbone_out_indices=[1, 3, 4, 6],
                               neck_hidden_sizes=[16, 16, 32, 32], fusion_hidden_size=16, is_hybrid=False, num_labels=7,
                               use_auxiliary_head=False), 17, False, 1, (64, 64)),
}

REFUSED = {
    # name: (model, a word of the reason, size)
    "swin": (vision("swin_t"), "bias", (64, 64)),
    "resnet": (vision("resnet18"), "no attention", (64, 64)),
    "hf_lib_beit": (face("BeitModel", "BeitConfig", image_size=64, use_relative_position_bias=True), "bias", (64, 64)),
    "hf_lib_segformer": (segformer, "", (64, 64)),
}


def export(model, image, path, opset, dynamic):
    legacy = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    axes = {"image": {0: "batch"}} if dynamic else None
    torch.onnx.export(model, image, path, opset_version=opset, input_names=["image"], dynamic_axes=axes, **legacy)


def as_tuple(y):
    return y if isinstance(y, tuple) else (y,)


def make(name, out):
    build, opset, dynamic, special, size = CASES[name]
    torch.manual_seed(sum(map(ord, name)))
    model = build().eval()
    spread(model)
    with torch.no_grad():
        for last in [m for m in model.modules() if isinstance(m, nn.Conv2d) and m.out_channels == 1]:
            last.bias.add_(1)  # depths are not negative: without this bias, all depths of a random model may be 0
    batch = 2 if dynamic else 1
    image = torch.rand(batch, 3, *size) * 2 - 1
    base = os.path.join(out, name)
    torch.backends.mha.set_fastpath_enabled(False)  # the exporter cannot write the fast path
    export(model, image, base + ".onnx", opset, dynamic)
    np.save(base + ".input.npy", image.numpy())
    for label, schedule in (("none", ()), ("2_5", (2, 5))):
        outputs = []
        for k in range(batch):
            with torch.no_grad(), Merging(layers_of(model), special, schedule) as merging:
                outputs.append(as_tuple(model(image[k:k + 1])))
            if schedule:
                np.save(f"{base}.s{label}.map{k}.npy", merging.map.numpy())
        for k in range(len(outputs[0])):
            np.save(f"{base}.s{label}.output{k}.npy", torch.cat([y[k] for y in outputs]).numpy())


def refuse(name, out):
    build, word, size = REFUSED[name]
    export(build().eval(), torch.rand(1, 3, *size), os.path.join(out, name + ".onnx"), 17, False)
    with open(os.path.join(out, name + ".refused"), "w") as file:
        file.write(word)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for cases, one in ((CASES, make), (REFUSED, refuse)):
        for name in cases:
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            try:
                one(name, out)
                print("made", name)
            except Exception as error:  # reports a model that a library or exporter cannot write, and continues
                print("not made", name, ":", type(error).__name__, (str(error).splitlines() or [""])[0])


if __name__ == "__main__":
    main()
