"""The types of arrays, for type checkers."""

from typing import Union

import numpy
from numpy.typing import NDArray

Image = NDArray[numpy.uint8]  #: rows x columns x 3, BGR, as cv2.imread() gives it
Labels = Union[NDArray[numpy.uint8], NDArray[numpy.uint16]]
Floats = NDArray[numpy.float32]
Ids = NDArray[numpy.int32]
