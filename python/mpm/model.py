"""mpm.Model."""

import ctypes
import json
import sys
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy

from . import register
from ._library import Array, Handle, call, checked, library, taken, view_of
from .arguments import Initialised, blocks_text, path_of, size_of, text_of, wrong_type
from .arrays import Image, Path, Stream
from .result import Result


@contextmanager
def without_python_layers() -> Iterator[None]:
    """Removes the Python layers while a network of ours is read.

    Debian's cv2 uses the same OpenCV libraries as this package. There the layers of register() would be taken
    for the model's own, instead of the C++ layers.
    """
    if "cv2" not in sys.modules:
        yield
        return
    with register.layers_removed():
        yield


def checked_image(value: Any, name: str) -> Image:
    """uint8 BGR without gaps."""
    image = checked(value, name, ("uint8",))
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError("%s: expected the shape (rows, columns, 3), not empty, got %s" % (name, image.shape))
    return image


def views_of(images: Sequence[Image]) -> Any:
    """The images for C; the caller keeps them."""
    return (Array * len(images))(*[view_of(image, "image") for image in images])


def _stream_key(value: Any) -> bytes:
    """Text and numbers are different streams."""
    if isinstance(value, str):
        return b"text " + value.encode("utf-8", "surrogatepass").replace(b"\0", b"\\0")
    if isinstance(value, int) and not isinstance(value, bool):
        return b"number %d" % value
    raise TypeError("stream: expected text or a number, got %r" % (value,))


def _stream_keys(given: Any, several: bool, images: int) -> Any:
    """One stream for each image; None for None."""
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
    """A converted model. Several threads may call one model; it runs one call at a time."""

    __slots__ = ("_handle", "__weakref__")  # so that a misspelt setting is an error

    def __init__(self, model: Path = "default", size: Optional[Tuple[int, int]] = None) -> None:
        """model: an ONNX file of mpm.convert(), or 'default'. size: (rows, columns), where the file leaves them open."""
        path, sides = path_of(model, "model"), size_of(size) or (0, 0)
        handle = ctypes.c_void_p()
        with without_python_layers():
            call(library.mpm_model_open, path, *sides, ctypes.byref(handle))
        self._handle = Handle(handle.value, library.mpm_model_free)

    @overload
    def __call__(self, image: Image, stream: Optional[Stream] = ...) -> Result: ...
    @overload
    def __call__(self, image: Sequence[Image], stream: Optional[Sequence[Stream]] = ...) -> List[Result]: ...
    def __call__(self, image: Any, stream: Any = None) -> Any:
        """Runs the model on one image (uint8 BGR) or a list of them. stream: the camera that the image is from, text or
        a number, for reuse over time; for a list of images a list."""
        handle = self._handle
        several = isinstance(image, (list, tuple))
        given = list(image) if several else [image]
        if not given:
            raise ValueError("images: expected at least one")
        images = [checked_image(one, "images[%d]" % i if several else "image") for i, one in enumerate(given)]
        keys = _stream_keys(stream, several, len(images))
        found = (ctypes.c_void_p * len(images))()
        call(library.mpm_model_run, handle.address, views_of(images), keys, len(images), found)
        results = [Result(Handle(address, library.mpm_result_free), one) for address, one in zip(found, given)]
        return results if several else results[0]

    def _facts(self) -> Dict[str, Any]:
        facts: Dict[str, Any] = json.loads(taken(library.mpm_model_describe(self._handle.address)))
        return facts

    def _set(self, name: bytes, value: str) -> None:
        call(library.mpm_model_set, self._handle.address, name, value.encode("utf-8", "surrogatepass"))

    @property
    def blocks(self) -> Union[Sequence[int], str]:
        """The blocks before which tokens merge, counted from 0; () runs all tokens. '2,5' and 'none' are understood
        too."""
        return tuple(self._facts()["blocks"])

    @blocks.setter
    def blocks(self, value: Union[Sequence[int], str]) -> None:
        self._set(b"blocks", blocks_text(value))

    @property
    def precision(self) -> str:
        """f32, tf32, bf16, f16, i8, auto or auto-fast."""
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

    def forget(self, stream: Optional[Stream] = None) -> None:
        """With reuse, the next call computes all tokens: of all streams, or of this one."""
        key = None if stream is None else _stream_key(stream)
        call(library.mpm_model_forget, self._handle.address, key)

    @property
    def size(self) -> Tuple[int, int]:
        """Of the network's input, (rows, columns)."""
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
        facts = self._facts()
        reuse = "" if facts["reuse"] == "off" else ", reuse " + facts["reuse"]
        blocks = ",".join(str(block) for block in facts["blocks"]) or "none"
        return "Model(%r, %dx%d, blocks %s, %s%s)" % (
            facts["path"], *facts["size"], blocks, facts["precision"], reuse)
