"""The reading of images: from a file, an array in some order of channels, a PIL image or a tensor."""

import ctypes
import os
import sys
from pathlib import PurePath
from typing import Any, List, Optional, Tuple

import numpy
from numpy.typing import NDArray

from ._library import array_of_buffer, call, checked, library, view_of
from .arguments import path_of
from .arrays import Image

_ENDINGS = (".bmp", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


def is_path(value: Any) -> bool:
    return isinstance(value, (str, PurePath))


def several_of(value: Any) -> Optional[List[Any]]:
    """Returns the images of a list, a folder or a pattern such as "street/*.jpg"; None for a single image."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if not is_path(value):
        return None
    path = os.fspath(value)
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.lower().endswith(_ENDINGS)]
        if not found:
            raise FileNotFoundError("image: the folder %r has no images" % path)
        return found
    if any(mark in path for mark in "*?[") and not os.path.exists(path):
        import glob

        found = sorted(glob.glob(path))
        if not found:
            raise FileNotFoundError("image: no file is named like %r" % path)
        return found
    return None


def read(path: Any, name: str = "image") -> Image:
    """Reads an image file as uint8 BGR."""
    text = path_of(path, name)
    if not os.path.exists(text):
        raise FileNotFoundError("%s: no such file: %r" % (name, os.fspath(path)))
    image = ctypes.c_void_p()
    call(library.mpm_image_read, text, ctypes.byref(image))
    return array_of_buffer(image.value)


def write(path: Any, image: NDArray[Any]) -> None:
    """Writes a uint8 or uint16 image, grey or BGR. The path's extension chooses the format."""
    array = checked(image, "image", ("uint8", "uint16"))
    call(library.mpm_image_write, path_of(path, "path"), view_of(array, "image"))


def _is_pil(value: Any) -> bool:
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def _array_of(value: Any, name: str) -> Optional[NDArray[Any]]:
    """Returns the array of a tensor; None if `value` has no array."""
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind = int(value.__dlpack_device__()[0])
        if kind not in (1, 3):  # DLPack's numbers of normal and pinned CPU memory
            raise ValueError("%s: the tensor is on another device: move it to the CPU first" % name)
        try:
            return numpy.from_dlpack(value.detach() if hasattr(value, "detach") else value)
        except (BufferError, RuntimeError, TypeError):
            pass
    if hasattr(value, "__array__"):
        return numpy.asarray(value)
    return None


def _channels(image: NDArray[Any], name: str, rgb: bool) -> Image:
    """Converts an image with no axis of channels, or with 1, 3 or 4 channels, to BGR without gaps."""
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3, 4) or image.size == 0:
        raise ValueError("%s: expected the shape (rows, columns) or (rows, columns, 1, 3 or 4), not empty, got %s" % (
            name, image.shape))
    if image.shape[2] == 1:
        return image.repeat(3, axis=2)
    image = image[:, :, :3]
    if rgb:
        image = image[:, :, ::-1]
    if image.flags.c_contiguous and image.flags.aligned:
        return image
    return image.copy("C")


def _order(color: Optional[str], default: str) -> bool:
    """Whether red is the first channel."""
    chosen = default if color is None else color
    if chosen not in ("rgb", "bgr"):
        raise ValueError("color: expected 'rgb' or 'bgr', got %r" % (color,))
    return chosen == "rgb"


def load(value: Any, name: str, color: Optional[str] = None) -> Tuple[Image, Optional[str]]:
    """Returns the image as uint8 BGR without gaps, and its path if `value` is a file."""
    if is_path(value):
        return read(value, name), os.fspath(value)
    if value is None:
        raise TypeError("%s: it is None, as cv2.imread() returns for a file that is missing or is no image" % name)
    if _is_pil(value):
        return _channels(numpy.asarray(value.convert("RGB")), name, True), None
    foreign = not isinstance(value, numpy.ndarray)
    array = _array_of(value, name) if foreign else value
    if array is None:
        raise TypeError("%s: expected a path, a NumPy array of uint8, a PIL image or a tensor, got %s" % (name, type(value)))
    if array.dtype != numpy.uint8:
        raise TypeError("%s: expected uint8, got %s; values of 0 to 1 are multiplied by 255 first" % (name, array.dtype))
    if foreign:
        if color is None:
            raise ValueError("%s: say color='rgb' or color='bgr' for a %s" % (name, type(value).__name__))
        if array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.shape[2] not in (1, 3, 4):
            array = array.transpose(1, 2, 0)  # tensors have the channels first
    return _channels(array, name, _order(color, "bgr")), None
