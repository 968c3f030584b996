"""The types of arrays and arguments, for type checkers."""

import os
from pathlib import PurePath
from typing import Any, Union

import numpy
from numpy.typing import NDArray

Image = NDArray[numpy.uint8]  #: rows x columns x 3, BGR, as from cv2.imread()
AnyImage = Union[NDArray[Any], str, PurePath, Any]  #: an input of a Model
Labels = Union[NDArray[numpy.uint8], NDArray[numpy.uint16]]
Floats = NDArray[numpy.float32]
Ids = NDArray[numpy.int32]
Path = Union[str, "os.PathLike[str]"]
Stream = Union[str, int]  #: a camera's name or number
