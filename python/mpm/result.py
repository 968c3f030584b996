"""mpm.Result."""

import ctypes
import json
from typing import Any, Dict, List, Optional, Tuple

import numpy

from ._library import Array, Handle, array_of_buffer, array_over, call, library, taken, view_of
from .arguments import Initialised
from .arrays import Floats, Ids, Image, Labels


class Times(Initialised):
    """Milliseconds; of the whole batch, except labels."""

    __slots__ = ("_times",)

    def __init__(self, times: Dict[str, float]) -> None:
        self._times = times

    @property
    def prepare(self) -> float:
        """Image to network input."""
        return self._times["prepare"]

    @property
    def network(self) -> float:
        """Input to output, encoder included."""
        return self._times["network"]

    @property
    def labels(self) -> float:
        """Output to labels, of this image."""
        return self._times["labels"]

    @property
    def encoder(self) -> float:
        """The merging encoder."""
        return self._times["encoder"]

    @property
    def merge(self) -> float:
        """All merges."""
        return self._times["merge"]

    @property
    def restore(self) -> float:
        """All restores."""
        return self._times["restore"]

    def __repr__(self) -> str:
        names = ("prepare", "network", "labels", "encoder", "merge", "restore")
        return "Times(%s ms)" % ", ".join("%s %.2f" % (name, self._times[name]) for name in names)


class Result(Initialised):
    """The result for one image. It stays valid without the model."""

    __slots__ = ("_handle", "_image", "_drawn", "_facts", "_arrays")

    def __init__(self, handle: Handle, image: Image) -> None:
        self._handle, self._image = handle, image
        self._drawn: Optional[Image] = None
        self._facts: Dict[str, Any] = {}
        self._arrays: Dict[str, Any] = {}

    def _array(self, name: str) -> Any:
        arrays, handle = self._arrays, self._handle
        if name not in arrays:
            array = Array()
            there = library.mpm_result_array(handle.address, name.encode(), ctypes.byref(array))
            arrays[name] = array_over(array, handle) if there else None
        return arrays[name]

    def _fact(self, name: str) -> Any:
        if not self._facts:
            self._facts = json.loads(taken(library.mpm_result_describe(self._handle.address)))
        return self._facts[name]

    @property
    def labels(self) -> Optional[Labels]:
        """Class ids of the image's size, uint8 or uint16; None where the model has no classes."""
        labels: Optional[Labels] = self._array("labels")
        return labels

    @property
    def features(self) -> Floats:
        """The network's output for this image: logits, features, or ids."""
        features: Floats = self._array("features")
        return features

    @property
    def overlay(self) -> Image:
        """The image with the classes' colours, uint8 BGR; without classes the merge map. Drawn at the first use, over
        the image as it is then."""
        if self._drawn is None:
            drawn, image = ctypes.c_void_p(), numpy.ascontiguousarray(self._image)
            call(library.mpm_result_overlay, self._handle.address, view_of(image), ctypes.byref(drawn))
            self._drawn = array_of_buffer(drawn.value)
        return self._drawn

    @property
    def tokens(self) -> List[int]:
        """Image tokens that entered each block."""
        return list(self._fact("tokens"))

    @property
    def map(self) -> Ids:
        """int32: final cluster of each image token."""
        map: Ids = self._array("map").reshape(-1)
        return map

    @property
    def grid(self) -> Tuple[int, int]:
        """Image tokens as (rows, columns)."""
        rows, columns = self._fact("grid")
        return rows, columns

    @property
    def recomputed(self) -> float:
        """Share of the image tokens that were computed: 1 without reuse."""
        return float(self._fact("recomputed"))

    @property
    def times(self) -> Times:
        """Milliseconds."""
        return Times(self._fact("times"))

    @property
    def device(self) -> str:
        """The device that ran."""
        return str(self._fact("device"))

    @property
    def precision(self) -> str:
        """The precision that ran."""
        return str(self._fact("precision"))

    @property
    def classes(self) -> List[str]:
        """Class names by id."""
        return list(self._fact("classes"))

    def __repr__(self) -> str:
        parts = []
        if self.labels is not None:
            parts.append("labels %dx%d" % self.labels.shape)
        if self.tokens:
            parts.append("tokens %d to %d" % (self.tokens[0], self.tokens[-1]))
        times = self.times
        parts.append("%.1f ms" % (times.prepare + times.network + times.labels))
        return "Result(%s)" % ", ".join(parts)
