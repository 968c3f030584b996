"""mpm.Model."""

import sys
from contextlib import contextmanager
from typing import Iterator, Optional, Tuple

from . import _mpm, register


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

    def __init__(self, model: str = "default", size: Optional[Tuple[int, int]] = None) -> None:
        with without_python_layers():
            super().__init__(model, size)
