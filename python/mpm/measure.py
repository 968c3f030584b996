"""mpm.bench, mpm.evaluate and mpm.join."""

import json
import os
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from . import _mpm
from .arrays import Image, Path
from .model import without_python_layers

Progress = Callable[[int, int], object]


def bench(
    model: Path = "default",
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
        text = _mpm.bench_json(os.fspath(model), given, compare, list(batch), rounds, warm_up, precision, progress)
    result: Dict[str, Any] = json.loads(text)
    return result


def evaluate(
    model: Path,
    dataset: str,
    root: Path,
    *,
    split: str = "val",
    compare: str = "",
    batch: Sequence[int] = (1,),
    precision: Union[str, Sequence[str]] = "f32",
    limit: int = 0,
    shard: Optional[Tuple[int, int]] = None,
    counts: Path = "",
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
            os.fspath(model), dataset, os.fspath(root), split, compare, list(batch), precisions, limit, shard,
            os.fspath(counts), progress)
    result: Dict[str, Any] = json.loads(text)
    return result


def join(counts: Sequence[Path]) -> Dict[str, Any]:
    """Joins the counts files of all shards of one evaluation. Returns the report of the whole."""
    result: Dict[str, Any] = json.loads(_mpm.join_json([os.fspath(path) for path in counts]))
    return result
