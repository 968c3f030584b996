"""Mutual Pair Merging: faster vision transformers in OpenCV's DNN module.

    import cv2, mpm
    model = mpm.Model("default")
    result = model(cv2.imread("street.jpg"))
    cv2.imwrite("overlay.png", result.overlay)
"""

from typing import List

from ._library import Error, last_error, library
from .convert import Conversion, ModelInfo, convert, info
from .export import from_timm, from_torch, from_transformers
from .measure import bench, evaluate, join, tune
from .model import Model
from .operators import report
from .register import configure, readNet, register
from .result import Result, Times
from .tokens import Merged, compose, merge, restore
from .track import Track

__version__: str = library.mpm_version().decode()

__all__ = [
    "Conversion", "Error", "Merged", "Model", "ModelInfo", "Result", "Times", "Track", "bench", "compose", "configure",
    "convert", "evaluate", "from_timm", "from_torch", "from_transformers", "info", "join", "last_error", "merge", "readNet",
    "register", "report", "restore", "tune",
]


def __dir__() -> List[str]:
    return sorted(__all__ + [name for name in globals() if name.startswith("__")])
