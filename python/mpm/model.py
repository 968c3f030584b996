"""The class mpm.Model."""

import ctypes
import functools
import json
import logging
import math
import tempfile
import time
from pathlib import PurePath
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Type, Union, overload

import numpy

from . import images, register, videos
from ._library import Array, Error, Handle, Unsupported, array_of_buffer, call, checked, library, reported, taken, view_of
from .arguments import Initialised, blocks_text, path_of, share_text, size_of, text_of, wrong_type
from .arrays import AnyImage, Floats, Image, Path, Stream
from .convert import ModelInfo
from .convert import info as read_info
from .result import Result
from .track import Trackers
from .waiting import watched


_SETTINGS = ("blocks", "method", "precision", "device", "reuse", "threshold", "nms", "objects")


def checked_image(value: Any, name: str) -> Image:
    """Checks that an image is uint8 BGR without gaps."""
    image = checked(value, name, ("uint8",))
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError("%s: expected the shape (rows, columns, 3), not empty, got %s" % (name, image.shape))
    return image


def views_of(images: Sequence[Image]) -> Any:
    """Returns the images for C. The caller must keep the images alive."""
    return (Array * len(images))(*[view_of(image, "image") for image in images])


def _restored(model: Union[str, bytes], size: Optional[Tuple[int, int]], settings: Dict[str, Any],
              kind: Optional[Type["Model"]] = None) -> "Model":
    """Restores a pickled model. A subclass's own __init__ is not called, because it may need other arguments."""
    of = kind or Model
    restored = of.__new__(of)
    Model.__init__(restored, model, size, **settings)
    return restored


def _patiently(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function that reads a source, so that Ctrl-C ends the call."""
    watched(lambda done, total: None, functools.partial(call, function, *arguments))


def _stream_key(value: Any) -> bytes:
    """Returns the key of a stream. A text and a number are always different streams."""
    if isinstance(value, str):
        return b"text " + value.encode("utf-8", "surrogatepass").replace(b"\0", b"\\0")
    if isinstance(value, int) and not isinstance(value, bool):
        return b"number %d" % value
    raise TypeError("stream: expected text or a number, got %r" % (value,))


def _time(seconds: Optional[float]) -> float:
    if seconds is None:
        return time.monotonic()
    if isinstance(seconds, (bool, str, bytes)) or not hasattr(seconds, "__float__") or not math.isfinite(seconds):
        raise wrong_type("seconds", "a finite number", seconds)
    return float(seconds)


def _mean(features: Floats) -> Floats:
    """Returns the mean over the image of tokens (rows, values) or of a map (values, rows, columns)."""
    if features.ndim == 3:
        features = features.reshape(features.shape[0], -1).T
    mean: Floats = features.astype(numpy.float32).reshape(-1, features.shape[-1]).mean(axis=0)
    return mean


def _stream_keys(given: Any, several: bool, images: int) -> Any:
    """Returns the key of the stream of each image; None if `given` is None."""
    if given is None:
        return None
    if not several:
        return (ctypes.c_char_p * 1)(_stream_key(given))
    if not isinstance(given, (list, tuple)):
        raise TypeError("stream: expected a list with the stream of each image")
    keys = [_stream_key(stream) for stream in given]
    if len(keys) != images:
        raise ValueError("stream: expected %d streams, one for each image, got %d" % (images, len(keys)))
    if len(set(keys)) != images:
        raise ValueError("stream: expected each stream once in a call")
    return (ctypes.c_char_p * images)(*keys)


class Model(Initialised):
    """A converted model. Several threads may call a model, which runs one call at a time."""

    __slots__ = ("_handle", "_content", "_file", "_size", "_trackers", "_chosen", "__weakref__")  # so that a misspelt setting is an error

    def __init__(
        self,
        model: Union[Path, bytes] = "default",
        size: Optional[Tuple[int, int]] = None,
        *,
        blocks: Union[Sequence[int], str, None] = None,
        method: Optional[str] = None,
        precision: Optional[str] = None,
        threads: Optional[int] = None,
        device: Optional[str] = None,
        reuse: Union[bool, str, None] = None,
        threshold: Optional[float] = None,
        nms: Optional[float] = None,
        objects: Optional[Sequence[str]] = None,
    ) -> None:
        """model: an ONNX file made by mpm.convert(), the file's content as bytes, or 'default'. size: (rows, columns), if
        the file leaves them open. threads: for the whole process; 0: one for each processor. Other arguments set the
        properties of the same name."""
        sides = size_of(size) or (0, 0)
        self._content, self._size = model if isinstance(model, bytes) else None, size
        self._file: Any = None
        if isinstance(model, bytes):
            file = self._file = tempfile.NamedTemporaryFile(suffix=".onnx")
            file.write(model)
            file.flush()
            model = file.name
        if threads is not None:
            if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= 4096:
                raise ValueError("threads: expected 0 or a number of threads, got %r" % (threads,))
            library.mpm_set_threads(threads)
        path = path_of(model, "model")
        handle = ctypes.c_void_p()
        with register.layers_removed():
            call(library.mpm_model_open, path, *sides, ctypes.byref(handle))
        self._trackers = Trackers()
        self._chosen: Set[bytes] = set()
        self._handle: Optional[Handle] = Handle(handle.value, library.mpm_model_free)
        for name, value in zip(_SETTINGS, (blocks, method, precision, device, reuse, threshold, nms, objects)):
            if value is not None:
                setattr(self, name, value)

    def close(self) -> None:
        """Releases the model's memory, after calls in other threads have ended."""
        self._handle = None

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        facts = self._facts()
        settings = {name: facts[name] for name in _SETTINGS if name.encode() in self._chosen}
        return _restored, (self._content or facts["path"], self._size, settings, type(self)), getattr(self, "__dict__", None)

    def _open(self) -> Handle:
        """Returns the handle. A call keeps the handle, so that close() in another thread does not free it meanwhile."""
        handle = self._handle
        if handle is None:
            raise Error("the model is closed")
        return handle

    @overload  # type: ignore  # tensors are of any type
    def __call__(self, image: Union[List[Any], Tuple[Any, ...]], stream: Optional[Sequence[Stream]] = ...,
                 color: Optional[str] = ..., seconds: Optional[float] = ...) -> List[Result]: ...
    @overload
    def __call__(self, image: AnyImage, stream: Optional[Stream] = ..., color: Optional[str] = ...,
                 seconds: Optional[float] = ...) -> Result: ...
    def __call__(self, image: Any, stream: Any = None, color: Optional[str] = None, seconds: Optional[float] = None) -> Any:
        """Runs the model on an image, or on several: a list, a folder or a pattern such as "street/*.jpg" gives a list.

        image: a file, an array of uint8 (BGR as in cv2, grey, or with a fourth channel), a PIL image, or a tensor with
        color="rgb" or "bgr". stream: text or a number that names the image's camera, for reuse over time and for tracks;
        for a list of images, a list of streams. seconds: the time of the images; None: now.
        """
        handle, found = self._open(), images.several_of(image)
        given = [image] if found is None else found
        if not given:
            raise ValueError("images: expected at least one")
        loaded = [images.load(one, "image" if found is None else "images[%d]" % i, color) for i, one in enumerate(given)]
        keys = _stream_keys(stream, found is not None, len(loaded))
        trackers = [self._trackers.of(key) for key in keys or ()]
        results = self._run(handle, [image for image, _ in loaded], keys, trackers, _time(seconds))
        for result, (_, path), one in zip(results, loaded, given):
            result._path = path
            if isinstance(one, numpy.ndarray) and one.shape == result._image.shape and color != "rgb":
                result._image = one  # the overlay is drawn later, over the array's pixels at that time
        return results[0] if found is None else results

    def _run(self, handle: Handle, loaded: List[Image], keys: Any, trackers: List[Handle], seconds: float) -> List[Result]:
        count = len(loaded)
        addresses = (ctypes.c_void_p * count)()
        if trackers:
            followed = (ctypes.c_void_p * count)(*[tracker.address for tracker in trackers])
            times = (ctypes.c_double * count)(*[seconds] * count)
            call(library.mpm_model_track, handle.address, views_of(loaded), keys, followed, times, count, addresses)
        else:
            call(library.mpm_model_run, handle.address, views_of(loaded), keys, count, addresses)
        return [Result(Handle(address, library.mpm_result_free), image) for address, image in zip(addresses, loaded)]

    def stream(self, source: Union[Path, int], stream: Optional[Stream] = None) -> Iterator[Result]:
        """Runs the model on each frame of a source: a camera's number, a video, an RTSP or HTTP address, a folder, an
        image, or "demo", the built-in street, which does not end. stream: as in a call; objects are tracked also without
        `stream`. Ctrl-C ends a wait for a frame. Raises an Error if the first frame does not come within a minute."""
        if not isinstance(source, (str, PurePath, int)) or isinstance(source, bool):
            raise wrong_type("source", "a path, an address or a camera's number", source)
        address = b"%d" % source if isinstance(source, int) else path_of(source, "source")
        return self._frames(address, stream)

    def _frames(self, address: bytes, stream: Optional[Stream]) -> Iterator[Result]:
        videos.connect()
        opened = ctypes.c_void_p()
        try:
            _patiently(library.mpm_source_open, address, ctypes.byref(opened))
        finally:
            source = Handle(opened.value, library.mpm_source_free)
        keys = _stream_keys(stream, False, 1)
        followed = b"source %d" % id(source) if keys is None else keys[0]  # a source without a key has its own tracks
        self._trackers.forget(followed)
        try:
            while True:
                frame, name = ctypes.c_void_p(), ctypes.c_void_p()
                skipped = ctypes.c_void_p()
                _patiently(library.mpm_source_next, source.address, ctypes.byref(frame), ctypes.byref(name), ctypes.byref(skipped))
                if skipped.value:
                    logging.getLogger("mpm").warning("%s", taken(skipped.value))
                if not frame.value:
                    return
                seconds = library.mpm_source_seconds(source.address)
                tracker = self._trackers.of(followed)  # each time, because settings and forget() begin a new tracker
                result, = self._run(self._open(), [array_of_buffer(frame.value)], keys, [tracker], seconds)
                result._path = taken(name.value)
                yield result
        finally:
            if keys is None:
                self._trackers.forget(followed)

    def embed(self, image: Any, color: Optional[str] = None) -> Floats:
        """Returns a vector for each image, the mean of the image's features. Only for models without classes."""
        facts = self._facts()
        if facts["classes"] or facts["detector"]:
            raise Error("embed: the model gives %s, not features" % ("boxes" if facts["detector"] else "classes"))
        results = self(image, color=color)
        if isinstance(results, list):
            return numpy.stack([_mean(result.features) for result in results])
        return _mean(results.features)

    def info(self) -> ModelInfo:
        """Returns the metadata of the model's file."""
        return read_info(self.path)

    def _facts(self) -> Dict[str, Any]:
        handle = self._open()
        facts: Dict[str, Any] = reported(library.mpm_model_describe, handle.address)
        return facts

    def _set(self, name: bytes, value: str) -> None:
        handle = self._open()
        try:
            call(library.mpm_model_set, handle.address, name, value.encode("utf-8", "surrogatepass"))
        except Error as error:
            raise Unsupported("%s: %s" % (name.decode(), error)) from None
        self._chosen.add(name)

    @property
    def blocks(self) -> Union[Sequence[int], str]:
        """The blocks before which tokens merge, counted from 0; () runs all tokens. Text such as '2,5' or 'none' is
        accepted too."""
        return tuple(self._facts()["blocks"])

    @blocks.setter
    def blocks(self, value: Union[Sequence[int], str]) -> None:
        self._set(b"blocks", blocks_text(value))

    @property
    def method(self) -> str:
        """The reducer, with parameters if it has any: mpm, none, gentle, 'tome:r=13'. A change keeps the blocks."""
        return str(self._facts()["method"])

    @method.setter
    def method(self, value: str) -> None:
        self._set(b"method", text_of(value, "method"))

    @property
    def precision(self) -> str:
        """f32, tf32, bf16, f16, i8, auto or auto-fast. Until this is set, calls use configure() and MPM_PRECISION. A result
        names the precision that was used."""
        return str(self._facts()["precision"])

    @precision.setter
    def precision(self, value: str) -> None:
        self._set(b"precision", text_of(value, "precision"))

    @property
    def device(self) -> str:
        """cpu, cuda, cuda:N or auto."""
        return str(self._facts()["device"])

    @device.setter
    def device(self, value: str) -> None:
        self._set(b"device", text_of(value, "device", "cpu, cuda, cuda:N or auto"))

    @property
    def reuse(self) -> Union[bool, str]:
        """Reuse over time: True, False, or values such as 'refresh=30,full=0.25'."""
        text = str(self._facts()["reuse"])
        return text == "on" if text in ("on", "off") else text

    @reuse.setter
    def reuse(self, value: Union[bool, str]) -> None:
        if not isinstance(value, (bool, str)):
            raise wrong_type("reuse", "True, False or text such as 'refresh=30,full=0.25'", value)
        self._set(b"reuse", value if isinstance(value, str) else "on" if value else "off")

    @property
    def threshold(self) -> float:
        """Objects with larger scores are found. 0 to 1; by default 0.5 for boxes of a detector and 0.6 for regions."""
        return float(self._facts()["threshold"])

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._set(b"threshold", share_text(value, "threshold"))
        self._trackers.forget()

    @property
    def nms(self) -> float:
        """For detectors: if boxes of a class overlap by more than this, only the best box is used. 1: all boxes are used."""
        return float(self._facts()["nms"])

    @nms.setter
    def nms(self, value: float) -> None:
        self._set(b"nms", share_text(value, "nms"))

    @property
    def objects(self) -> List[str]:
        """The names of the classes whose objects are tracked in streams. For a detector, an empty list means all classes.
        For a model that segments, the connected regions of these classes are the objects. A change begins new tracks."""
        return list(self._facts()["objects"])

    @objects.setter
    def objects(self, value: Sequence[str]) -> None:
        if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
            raise wrong_type("objects", "a list of names of classes", value)
        self._set(b"objects", json.dumps(list(value)))
        self._trackers.forget()

    def forget(self, stream: Optional[Stream] = None) -> None:
        """Forgets a stream, or all streams. With reuse, the next call computes all tokens; tracks start again."""
        key, handle = None if stream is None else _stream_key(stream), self._open()
        self._trackers.forget(key)
        call(library.mpm_model_forget, handle.address, key)

    @property
    def size(self) -> Tuple[int, int]:
        """The size of the network's input, (rows, columns)."""
        rows, columns = self._facts()["size"]
        return rows, columns

    @property
    def classes(self) -> List[str]:
        """Class names by id."""
        return list(self._facts()["classes"])

    @property
    def path(self) -> str:
        """The model file."""
        return str(self._facts()["path"])

    def __repr__(self) -> str:
        if self._handle is None:
            return "Model(closed)"
        facts = self._facts()
        method = "" if facts["method"] == "mpm" else ", method " + facts["method"]
        reuse = "" if facts["reuse"] == "off" else ", reuse " + facts["reuse"]
        blocks = ",".join(str(block) for block in facts["blocks"]) or "none"
        return "Model(%r, %dx%d, blocks %s%s, %s%s)" % (
            facts["path"], *facts["size"], blocks, method, facts["precision"], reuse)
