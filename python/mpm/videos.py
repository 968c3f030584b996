"""Videos from the installed cv2, for a library without OpenCV's video module, such as in pip's package."""

import ctypes
import importlib
import itertools
from typing import Any, Callable, Dict, List, Tuple

import numpy

from ._library import Array, library, view_of

_OPEN = ctypes.CFUNCTYPE(ctypes.c_longlong, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int)
_GET = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_longlong, ctypes.c_int)
_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_longlong, ctypes.c_int, ctypes.c_double)
_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_longlong, ctypes.POINTER(Array))
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_longlong)


class _Videos:
    """The open captures, by number, and the last frame of each, which the library copies."""

    def __init__(self) -> None:
        self.captures: Dict[int, Any] = {}
        self.frames: Dict[int, Any] = {}
        self.numbers = itertools.count(1)

    def open(self, address: bytes, backend: int, parameters: Any, count: int) -> int:
        try:
            cv2: Any = importlib.import_module("cv2")
        except ImportError:
            return -1
        text = address.decode("utf-8", "surrogateescape")
        source = int(text) if backend == cv2.CAP_V4L2 else text
        capture = cv2.VideoCapture(source, backend, [parameters[i] for i in range(2 * count)])
        if not capture.isOpened():
            return 0
        number = next(self.numbers)
        self.captures[number] = capture
        return number

    def get(self, number: int, property: int) -> float:
        return float(self.captures[number].get(property))

    def set(self, number: int, property: int, value: float) -> int:
        return int(self.captures[number].set(property, value))

    def read(self, number: int, frame: Any) -> int:
        there, image = self.captures[number].read()
        if not there or image is None or image.dtype != numpy.uint8:
            return 0
        self.frames[number] = numpy.ascontiguousarray(image)
        frame[0] = view_of(self.frames[number])
        return 1

    def release(self, number: int) -> None:
        self.frames.pop(number, None)
        capture = self.captures.pop(number, None)
        if capture is not None:
            capture.release()


def _quiet(method: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method return 0 instead of raising an exception, which could not pass through the library."""

    def guarded(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception:
            return 0

    return guarded


_kept: List[Any] = []  # keeps the callbacks alive: the library calls them until the process ends


def connect() -> None:
    """Gives cv2's videos to the library. Does nothing if the library has a video module."""
    if _kept or not hasattr(library, "mpm_set_video"):
        return
    videos = _Videos()
    kinds: List[Tuple[Any, Callable[..., Any]]] = [
        (_OPEN, videos.open), (_GET, videos.get), (_SET, videos.set), (_READ, videos.read), (_RELEASE, videos.release)]
    _kept.extend(kind(_quiet(method)) for kind, method in kinds)
    library.mpm_set_video.restype = None
    library.mpm_set_video(*_kept)
