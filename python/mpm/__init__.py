"""Mutual Pair Merging: faster vision transformers in OpenCV's DNN module.

    import cv2, mpm
    model = mpm.Model("default")
    result = model(cv2.imread("street.jpg"))
    cv2.imwrite("overlay.png", result.overlay)
"""

import json
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from . import _mpm
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
from .arrays import Image
from .model import Model, without_python_layers
from .register import configure, readNet, register

__version__ = _mpm.version()

__all__ = [
    "Conversion", "Error", "Merged", "Model", "ModelInfo", "Result", "Times", "bench", "compose", "configure",
    "convert", "evaluate", "info", "join", "last_error", "merge", "readNet", "register", "report", "restore",
]

Progress = Callable[[int, int], object]


def bench(
    model: str = "default",
    images: Optional[Sequence[Image]] = None,
    *,
    compare: str = "none,mpm",
    batch: Sequence[int] = (1,),
    rounds: int = 20,
    warm_up: int = 3,
    precision: str = "f32",
    progress: Optional[Progress] = None,
) -> Dict[str, Any]:
    """Measures the speed of methods in interleaved rounds, as `mpm bench` does.

    images: uint8 BGR; None: images of the built-in street. progress(done, total) is called after each round.
    Returns the report of `mpm bench --json`.
    """
    given = None if images is None else list(images)
    with without_python_layers():
        text = _mpm.bench_json(model, given, compare, list(batch), rounds, warm_up, precision, progress)
    result: Dict[str, Any] = json.loads(text)
    return result


def evaluate(
    model: str,
    dataset: str,
    root: str,
    *,
    split: str = "val",
    compare: str = "",
    batch: Sequence[int] = (1,),
    precision: Union[str, Sequence[str]] = "f32",
    limit: int = 0,
    shard: Optional[Tuple[int, int]] = None,
    counts: str = "",
    progress: Optional[Progress] = None,
) -> Dict[str, Any]:
    """Measures accuracy and cost on a labelled data set, as `mpm eval` does.

    dataset: camvid, ade20k, cityscapes, pascal-context or folder. limit: number of images; 0: all. shard:
    (part, parts), from 1. counts: a file that an interrupted call continues from, and that join() reads.
    Returns the report of `mpm eval --json`.
    """
    precisions = [precision] if isinstance(precision, str) else list(precision)
    with without_python_layers():
        text = _mpm.evaluate_json(
            model, dataset, root, split, compare, list(batch), precisions, limit, shard, counts, progress)
    result: Dict[str, Any] = json.loads(text)
    return result


def join(counts: Sequence[str]) -> Dict[str, Any]:
    """Joins the counts files of all shards of one evaluation. Returns the report of the whole."""
    result: Dict[str, Any] = json.loads(_mpm.join_json(list(counts)))
    return result
