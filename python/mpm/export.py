"""mpm.from_timm, mpm.from_torch and mpm.from_transformers, which make an mpm.Model of a PyTorch model."""

import importlib
import inspect
import os
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .arrays import Path
from .convert import convert
from .model import Model


def _write(module: Any, example: Any, path: str) -> None:
    """Exports the module to an ONNX file."""
    torch = importlib.import_module("torch")
    options: Dict[str, Any] = {"input_names": ["image"], "output_names": ["output"], "opset_version": 17}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # because the other exporter needs the package onnxscript
    training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about Python values that become constants; the conversion is verified
            torch.onnx.export(module, (example,), path, **options)
    finally:
        for part, trains in training:
            part.training = trains


def from_torch(
    module: Any,
    example: Any,
    output: Path = "",
    *,
    mean: Optional[Sequence[float]] = None,
    std: Optional[Sequence[float]] = None,
    **options: Any,
) -> Model:
    """Exports a vision transformer, converts it and loads it.

    example: an input, such as torch.zeros(1, 3, 224, 224). output: the file for the converted model; if empty, the model
    is only in memory. mean, std: the normalisation of the training for R, G and B, for values from 0 to 1. options: as for
    mpm.convert().
    """
    with tempfile.TemporaryDirectory() as folder:
        export = os.path.join(folder, "export.onnx")
        _write(module, example, export)
        converted = os.fspath(output) or os.path.join(folder, "model.onnx")
        convert(export, converted, mean=mean, std=std, **options)
        if output:
            return Model(output)
        with open(converted, "rb") as file:
            return Model(file.read())


def _example(size: Tuple[int, int]) -> Any:
    return importlib.import_module("torch").zeros(1, 3, *size)


def from_timm(vit: Any, output: Path = "", **options: Any) -> Model:
    """Calls from_torch() for a model from timm.create_model(), with the configured size and normalisation."""
    config = dict(getattr(vit, "pretrained_cfg", None) or {})
    rows, columns = getattr(getattr(vit, "patch_embed", None), "img_size", None) or config["input_size"][1:]
    options.setdefault("mean", config.get("mean"))
    options.setdefault("std", config.get("std"))
    return from_torch(vit, _example((rows, columns)), output, **options)


def _size_of(model: Any, processor: Any) -> Tuple[int, int]:
    """Returns the size of the network's input, (rows, columns)."""
    config = model.config
    size: Any = getattr(config, "image_size", None)
    if size is None:
        sizes: List[Any] = [getattr(processor, "crop_size", None), getattr(processor, "size", None)]
        size = next((s for s in sizes if s), None)
    if isinstance(size, int):
        return size, size
    if isinstance(size, (list, tuple)):
        return int(size[0]), int(size[1])
    if size is not None and "height" in size:
        return int(size["height"]), int(size["width"])
    if size is not None and "shortest_edge" in size:
        return int(size["shortest_edge"]), int(size["shortest_edge"])
    raise ValueError("from_transformers: neither the model nor the processor has the size of an image")


def from_transformers(model: Any, processor: Any, output: Path = "", **options: Any) -> Model:
    """Calls from_torch() for a vision model from transformers, with size and normalisation of its image processor."""
    torch: Any = importlib.import_module("torch")

    class Output(torch.nn.Module):  # type: ignore
        """The model with a single output tensor: the logits, or else the last hidden state."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, image: Any) -> Any:
            found = self.model(pixel_values=image)
            return found.logits if getattr(found, "logits", None) is not None else found[0]

    options.setdefault("mean", getattr(processor, "image_mean", None))
    options.setdefault("std", getattr(processor, "image_std", None))
    return from_torch(Output(), _example(_size_of(model, processor)), output, **options)
