"""Mutual Pair Merging: faster vision transformers in OpenCV's DNN module.

    import cv2, mpm
    model = mpm.Model("default")
    result = model(cv2.imread("street.jpg"))
    cv2.imwrite("overlay.png", result.overlay)
"""

from typing import List

try:
    from . import _mpm
except ImportError as _error:
    from ._version import explained

    raise explained(_error) from None
from ._mpm import (
    Conversion,
    Error,
    Merged,
    ModelInfo,
    Result,
    Times,
    compose,
    convert,
    info,
    last_error,
    merge,
    report,
    restore,
)
from .measure import bench, evaluate, join
from .model import Model
from .register import configure, readNet, register

__version__ = _mpm.version()

__all__ = [
    "Conversion", "Error", "Merged", "Model", "ModelInfo", "Result", "Times", "bench", "compose", "configure",
    "convert", "evaluate", "info", "join", "last_error", "merge", "readNet", "register", "report", "restore",
]


def __dir__() -> List[str]:
    return sorted(__all__ + [name for name in globals() if name.startswith("__")])
