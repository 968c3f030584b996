#!/usr/bin/env python3
"""A segmenter with random weights for end_to_end.sh: timm's ViT-B at 512 x 512 and a linear head.

export.py FILE [--model vit_base_patch16_224] [--size 512] [--batch 1]
"""

import argparse

import timm
import torch


class Segmenter(torch.nn.Module):
    def __init__(self, model, size, classes=19):
        super().__init__()
        self.encoder = timm.create_model(model, img_size=size, num_classes=0)
        self.head = torch.nn.Linear(self.encoder.embed_dim, classes)
        self.side = size // self.encoder.patch_embed.patch_size[0]

    def forward(self, image):
        tokens = self.encoder.forward_features(image)[:, self.encoder.num_prefix_tokens:]
        return self.head(tokens).transpose(1, 2).reshape(image.shape[0], -1, self.side, self.side)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--model", default="vit_base_patch16_224")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(1)
    image = torch.randn(options.batch, 3, options.size, options.size)
    torch.onnx.export(Segmenter(options.model, options.size).eval(), image, options.file, dynamo=False,
                      opset_version=17, input_names=["image"], output_names=["scores"])


if __name__ == "__main__":
    main()
