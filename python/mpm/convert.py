"""The functions mpm.convert and mpm.info."""

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._library import library, reported
from .arguments import Initialised, blocks_of, path_of, size_of
from .arrays import Path
from .register import layers_removed


def _facts_of(blocks: Sequence[int]) -> str:
    return ",".join(str(block) for block in blocks) or "none"


class Conversion(Initialised):
    """A finished conversion."""

    __slots__ = ("_facts",)

    def __init__(self, facts: Dict[str, Any]) -> None:
        self._facts = facts

    @property
    def blocks(self) -> Tuple[int, ...]:
        """The blocks before which tokens merge."""
        return tuple(self._facts["blocks"])

    @property
    def method(self) -> str:
        """The reducer."""
        return str(self._facts["method"])

    @property
    def error(self) -> float:
        """The largest difference from the export's output, relative to the largest value."""
        return float(self._facts["error"])

    @property
    def notes(self) -> List[str]:
        """Warnings."""
        return list(self._facts["notes"])

    def __repr__(self) -> str:
        return "Conversion(blocks %s, error %.1e)" % (_facts_of(self.blocks), self.error)

    def __str__(self) -> str:
        return str(self._facts["text"])


class ModelInfo(Initialised):
    """The metadata of a model file."""

    __slots__ = ("_facts",)

    def __init__(self, facts: Dict[str, Any]) -> None:
        self._facts = facts

    @property
    def labels(self) -> List[str]:
        """The class names, by id."""
        return list(self._facts["labels"])

    @property
    def palette(self) -> List[List[int]]:
        """The RGB colours, by class id."""
        return [list(colour) for colour in self._facts["palette"]]

    @property
    def size(self) -> Tuple[int, int]:
        """The size of the input, (rows, columns)."""
        rows, columns = self._facts["size"]
        return rows, columns

    @property
    def mean(self) -> List[float]:
        """The mean of R, G and B, for values from 0 to 1."""
        return list(self._facts["mean"])

    @property
    def std(self) -> List[float]:
        """The standard deviation of R, G and B, for values from 0 to 1."""
        return list(self._facts["std"])

    @property
    def blocks(self) -> Tuple[int, ...]:
        """The blocks before which tokens merge."""
        return tuple(self._facts["blocks"])

    def __repr__(self) -> str:
        return "ModelInfo(%dx%d, %d labels, blocks %s)" % (*self.size, len(self.labels), _facts_of(self.blocks))


def convert(
    input: Path,
    output: Path,
    *,
    blocks: Union[Sequence[int], str, None] = None,
    form: str = "fused",
    size: Optional[Tuple[int, int]] = None,
    batch: int = 0,
    head: str = "logits",
    labels: Path = "",
    method: Optional[str] = None,
    mean: Optional[Sequence[float]] = None,
    std: Optional[Sequence[float]] = None,
) -> Conversion:
    """Converts the ONNX export of a vision transformer into a model for OpenCV, as `mpm convert` does."""
    options = {
        "blocks": None if blocks is None else blocks_of(blocks),
        "form": form, "size": size_of(size), "batch": batch, "head": head, "method": method,
        "labels": path_of(labels, "labels").decode("utf-8", "surrogateescape"),
        "mean": None if mean is None else [float(value) for value in mean],
        "std": None if std is None else [float(value) for value in std],
    }
    with layers_removed():  # the verification runs the model with the C++ layers
        return Conversion(reported(library.mpm_convert, path_of(input, "input"), path_of(output, "output"),
                                   json.dumps(options).encode()))


def info(path: Path) -> ModelInfo:
    """Reads the metadata of a model file."""
    return ModelInfo(reported(library.mpm_model_info, path_of(path, "path")))
