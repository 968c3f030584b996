"""The class mpm.Result."""

import ctypes
import importlib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy

from . import images
from ._library import Array, Handle, array_of_buffer, array_over, call, checked, library, taken, view_of
from .arguments import Initialised
from .arrays import Floats, Ids, Image, Labels, Path
from .track import Track, track_of


class Times(Initialised):
    """Times in milliseconds, of the whole batch; only `labels` is of a single image."""

    __slots__ = ("_times",)

    def __init__(self, times: Dict[str, float]) -> None:
        self._times = times

    @property
    def prepare(self) -> float:
        """From the image to the network's input."""
        return self._times["prepare"]

    @property
    def network(self) -> float:
        """From the network's input to its output, with the encoder."""
        return self._times["network"]

    @property
    def labels(self) -> float:
        """From the output to the labels of this image."""
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
    """The result for an image. It remains valid after the model is closed."""

    __slots__ = ("_handle", "_image", "_drawn", "_facts", "_arrays", "_path")

    def __init__(self, handle: Handle, image: Image) -> None:
        self._handle, self._image = handle, image
        self._drawn: Optional[Image] = None
        self._path: Optional[str] = None
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
    def _detector(self) -> Any:
        """The description of a detector's objects; None for other models."""
        self._fact("tokens")
        return self._facts.get("detector")

    @property
    def labels(self) -> Union[Labels, Ids, None]:
        """The class id of each pixel of the image, uint8 or uint16; for a detector the class id of each object, int32. None
        if the model has no classes."""
        labels: Union[Labels, Ids, None] = self._array("labels")
        return labels if labels is None or not self._detector else labels.reshape(-1)

    @property
    def features(self) -> Floats:
        """The network's output for this image: logits, features, or ids."""
        features: Floats = self._array("features")
        return features

    @property
    def overlay(self) -> Image:
        """The image with the colours of classes, or the boxes of tracks or objects, uint8 BGR; if there are none of these,
        the merge map. Drawn on first use, over the pixels that the image has at that time."""
        if self._drawn is None:
            drawn, image = ctypes.c_void_p(), checked(self._image, "image", ("uint8",), 3)
            call(library.mpm_result_overlay, self._handle.address, view_of(image), ctypes.byref(drawn))
            self._drawn = array_of_buffer(drawn.value)
        return self._drawn

    @property
    def tokens(self) -> List[int]:
        """The number of image tokens that entered each block."""
        return list(self._fact("tokens"))

    @property
    def map(self) -> Ids:
        """The final cluster of each image token, int32."""
        map: Ids = self._array("map").reshape(-1)
        return map

    @property
    def grid(self) -> Tuple[int, int]:
        """The grid of image tokens, (rows, columns)."""
        rows, columns = self._fact("grid")
        return rows, columns

    @property
    def recomputed(self) -> float:
        """The share of the image tokens that were computed; 1 without reuse."""
        return float(self._fact("recomputed"))

    @property
    def times(self) -> Times:
        """The times of the call, in milliseconds."""
        return Times(self._fact("times"))

    @property
    def device(self) -> str:
        """The device that was used."""
        return str(self._fact("device"))

    @property
    def precision(self) -> str:
        """The precision that was used."""
        return str(self._fact("precision"))

    @property
    def classes(self) -> List[str]:
        """The class names, by id."""
        return list(self._fact("classes"))

    @property
    def path(self) -> Optional[str]:
        """The image's file, or the frame's name; None for an array."""
        return self._path

    @property
    def names(self) -> Optional[List[str]]:
        """For a detector: the class name of each object. None for other models, whose names are in `classes`."""
        return list(self._detector["names"]) if self._detector else None

    @property
    def boxes(self) -> Optional[Floats]:
        """For a detector: left, top, right and bottom of each object in pixels, float32, the best object first. None for
        other models."""
        boxes: Optional[Floats] = self._array("boxes")
        return boxes

    @property
    def scores(self) -> Optional[Floats]:
        """For a detector: the score of each object, 0 to 1, float32. None for other models."""
        scores: Optional[Floats] = self._array("scores")
        return scores if scores is None else scores.reshape(-1)

    @property
    def masks(self) -> Optional[List[Image]]:
        """For a detector with masks: a mask for each object, uint8, in the size of its box in whole pixels, 1 inside.
        None for other models."""
        if not self._detector or not self._detector["masks"]:
            return None
        if "masks" not in self._arrays:
            masks = []
            for number in range(len(self._detector["names"])):
                array = Array()
                library.mpm_result_mask(self._handle.address, number, ctypes.byref(array))
                masks.append(array_over(array, self._handle).copy())  # because objects with the same box share memory
            self._arrays["masks"] = masks
        return list(self._arrays["masks"])

    def _track_facts(self) -> Any:
        if "tracks" not in self._arrays:
            text = library.mpm_result_tracks(self._handle.address)
            self._arrays["tracks"] = json.loads(taken(text)) if text else None
        return self._arrays["tracks"]

    @property
    def tracks(self) -> Optional[List[Track]]:
        """For a frame of a stream: the tracked objects, sorted by identity, with objects that have no box in this frame. None
        without a stream, or if the model has no objects."""
        facts = self._track_facts()
        return None if facts is None else [track_of(one) for one in facts]

    @property
    def speed(self) -> Dict[str, float]:
        """The times of the steps of a call, in milliseconds."""
        times = self._fact("times")
        return {name: times[name] for name in ("prepare", "network", "labels")}

    def plot(self) -> Image:
        """Returns the overlay."""
        return self.overlay

    def save(self, path: Path = "") -> str:
        """Writes the overlay, by default to NAME.overlay.png in the current folder. Returns the path."""
        stem = os.path.splitext(os.path.basename(self._path or "result"))[0]
        chosen = os.fspath(path) or stem + ".overlay.png"
        images.write(chosen, self.overlay)
        return chosen

    def show(self) -> None:
        """Opens the overlay in a viewer. Needs the package pillow."""
        try:
            pillow = importlib.import_module("PIL.Image")
        except ImportError:
            raise ImportError("show: install pillow, or use save()") from None
        pillow.fromarray(self.overlay[..., ::-1].copy()).show()

    def _shares(self) -> Iterator[Tuple[int, str, float]]:
        """Yields id, name and share of the classes in the image, the largest share first."""
        if self.labels is None or self._detector:
            return
        counts, names = numpy.bincount(self.labels.ravel()), self.classes
        for label in sorted(numpy.flatnonzero(counts), key=lambda id: -int(counts[id])):
            yield int(label), names[label] if label < len(names) else "", counts[label] / self.labels.size

    def to_json(self) -> str:
        """Returns JSON with path, size, shares of classes or boxes of objects, tracks, tokens and milliseconds."""
        found = {"boxes": list(self._objects())} if self._detector else {}
        if self._track_facts() is not None:
            found["tracks"] = self._track_facts()
        return json.dumps({
            "path": self.path, "size": list(self._image.shape[:2]),
            "classes": [{"label": label, "name": name, "share": share} for label, name, share in self._shares()],
            **found, "tokens": self.tokens, "recomputed": self.recomputed, "ms": self.speed, "device": self.device,
            "precision": self.precision})

    def _objects(self) -> Iterator[Dict[str, Any]]:
        """Yields the objects as `mpm run --save boxes` writes them."""
        boxes, labels, scores, names = self.boxes, self.labels, self.scores, self.names
        if boxes is None or labels is None or scores is None or names is None:
            return
        for i, name in enumerate(names):
            yield {"xyxy": boxes[i].tolist(), "label": int(labels[i]), "name": name, "score": float(scores[i])}

    def _whole_masks(self) -> Any:
        """Returns the objects' masks in the image's size, bool; None without masks."""
        boxes, masks, (rows, columns) = self.boxes, self.masks, self._image.shape[:2]
        if boxes is None or masks is None:
            return None
        whole = numpy.zeros((len(masks), rows, columns), bool)
        for one, (left, top, _, _), mask in zip(whole, boxes.round().astype(int), masks):
            top, left = min(top, rows - mask.shape[0]), min(left, columns - mask.shape[1])
            one[top:top + mask.shape[0], left:left + mask.shape[1]] = mask
        return whole

    def to_supervision(self) -> Any:
        """Returns supervision.Detections: the objects of a detector, or else a mask for each class in the image. Needs the
        package supervision."""
        if self.labels is None:
            raise TypeError("to_supervision: the model gives neither classes nor boxes")
        supervision = importlib.import_module("supervision")
        if self._detector:
            return supervision.Detections(
                xyxy=self.boxes, mask=self._whole_masks(), confidence=self.scores, class_id=self.labels,
                data={"class_name": numpy.array(self.names, str)})
        found = list(self._shares())
        masks = numpy.array([self.labels == label for label, _, _ in found])
        corners = []
        for mask in masks:
            rows, columns = numpy.flatnonzero(mask.any(axis=1)), numpy.flatnonzero(mask.any(axis=0))
            corners.append([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        return supervision.Detections(
            xyxy=numpy.array(corners, numpy.float32), mask=masks, class_id=numpy.array([label for label, _, _ in found]),
            data={"class_name": numpy.array([name for _, name, _ in found])})

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        """Returns the labels as an array."""
        labels = self.labels
        if labels is None:
            raise TypeError("the result has no labels, as the model has no classes; see features")
        array = labels if dtype is None else labels.astype(dtype, copy=False)
        if copy is False and array is not labels:
            raise ValueError("copy: the labels are %s; expected None or True for %s" % (labels.dtype, array.dtype))
        return array.copy() if copy and array is labels else array

    def __repr__(self) -> str:
        parts = []
        if self._detector:
            count = len(self._detector["names"])
            parts.append("1 object" if count == 1 else "%d objects" % count)
        elif self.labels is not None:
            parts.append("labels %dx%d" % self.labels.shape)
        if self.tokens:
            parts.append("tokens %d to %d" % (self.tokens[0], self.tokens[-1]))
        times = self.times
        parts.append("%.1f ms" % (times.prepare + times.network + times.labels))
        return "Result(%s)" % ", ".join(parts)
