#!/usr/bin/env python3
"""Exports the parts of EVA-01 + ViT-Adapter at the real width (random weights, four stages of one block), to measure the
parts around the blocks.

    make_eva.py OUT.onnx [SIZE]      SIZE: of the image, a multiple of 32 (default: 896)

The model is the one with injectors of tests/models/onnx/make_decoder_exports.py, with other constants. It lacks the
extractors' convolutional MLP and two of the last stage's three extractors; the pyramid has fewer, but wider
convolutions. The file has 686 MB; writing it needs 8 GB of memory.
"""
import pathlib
import sys
import types

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "tests/models/onnx"


def load(name, changes):
    """Loads a module of SCRIPTS after changing its text, because its classes read the constants when they are defined."""
    text = (SCRIPTS / f"{name}.py").read_text()
    for before, after in changes.items():
        if before not in text:
            sys.exit(f"make_eva: {name}.py has no \"{before}\" any more")
        text = text.replace(before, after)
    module = types.ModuleType(name)
    module.__file__ = str(SCRIPTS / f"{name}.py")
    sys.modules[name] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


if __name__ == "__main__":
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 896
    sys.path.insert(0, str(SCRIPTS))
    exports = load("make_exports", {
        "SIZE, PATCH, DIM, HEADS, DEPTH = (64, 96), 8, 48, 3, 7":
            f"SIZE, PATCH, DIM, HEADS, DEPTH = ({size}, {size}), 16, 1408, 16, 4",
        "hidden=96": "hidden=6144"})
    decoders = load("make_decoder_exports", {
        "HEADS, POINTS = 4, 4": "HEADS, POINTS = 16, 4",
        "taps=(1, 3, 4, 6)": "taps=(0, 1, 2, 3)",
        "nn.Conv2d(3, DIM, 8, 4, 2)": "nn.Conv2d(3, DIM, 16, 8, 4)",
        "value_dim=DIM, special=special": "value_dim=DIM // 2, special=special",
        "Deformable(3, DIM, style)": "Deformable(3, DIM // 2, style)"})
    import torch

    class Outputs(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, image):
            return self.model.run(image)[0]

    torch.manual_seed(1)
    with torch.no_grad():
        torch.onnx.export(Outputs(decoders.Injected(exports.blocks(), special=1)).eval(), torch.randn(1, 3, size, size),
                          sys.argv[1], opset_version=18 if torch.__version__ >= "2" else 17, input_names=["image"],
                          do_constant_folding=True)
