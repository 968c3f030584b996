"""mpm.Model."""

import sys
from contextlib import contextmanager
from typing import Iterator, Optional, Tuple

from . import _mpm, register
from .arrays import Path


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


class Model(_mpm.Model):
    """A converted model: images in, labels, features and merge maps out."""

    __slots__ = ()  # so that a misspelt setting is an error

    def __init__(self, model: Path = "default", size: Optional[Tuple[int, int]] = None) -> None:
        with without_python_layers():
            super().__init__(model, size)
