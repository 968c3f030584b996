"""The functions mpm.bench, mpm.evaluate, mpm.tune and mpm.join."""

import functools
import importlib
import json
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import images as image_files, videos
from ._library import library, reported
from .arguments import path_of, text_of
from .arrays import AnyImage, Image, Path
from .model import checked_image, views_of
from .register import layers_removed
from .waiting import watched

Progress = Callable[[int, int], object]


class _Bar:
    """A progress bar on a terminal, if tqdm is installed."""

    def __init__(self, wanted: bool) -> None:
        self._bar: Any = None
        if not wanted:
            return
        try:
            self._bar = importlib.import_module("tqdm").tqdm(disable=None, leave=False)  # None: only on a terminal
        except ImportError:
            pass

    def show(self, done: int, total: int) -> None:
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _watched(progress: Optional[Progress], function: Callable[..., int], *arguments: Any) -> Dict[str, Any]:
    """Calls a function of the library that takes long. Without `progress`, shows a bar."""
    bar = _Bar(wanted=progress is None)
    try:
        report: Dict[str, Any] = watched(progress or bar.show, functools.partial(reported, function, *arguments))
        return report
    finally:
        bar.close()


def _path_text(path: Path, name: str) -> str:
    return path_of(path, name).decode("utf-8", "surrogateescape")


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

    images: uint8 BGR; None: images of the built-in street. progress: called as progress(done, total) after each round.
    Returns the report of `mpm bench --json`.
    """
    given = [] if images is None else [checked_image(image, "images[%d]" % i) for i, image in enumerate(list(images))]
    if images is not None and not given:
        raise ValueError("images: expected at least one")
    options = {"compare": text_of(compare, "compare"), "batch": list(batch), "rounds": rounds, "warm_up": warm_up,
               "precision": text_of(precision, "precision")}
    with layers_removed():
        return _watched(progress, library.mpm_bench, path_of(model, "model"), views_of(given), len(given),
                        json.dumps(options).encode())


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

    dataset: camvid, ade20k, cityscapes, pascal-context or folder. limit: number of images; 0: all. shard: (part, parts);
    the first part is 1. counts: a file with which an interrupted call can continue, and which join() reads.
    Returns the report of `mpm eval --json`.
    """
    precisions = [precision] if isinstance(precision, str) else list(precision)
    options = {"dataset": text_of(dataset, "dataset"), "root": _path_text(root, "root"), "split": text_of(split, "split"),
               "compare": text_of(compare, "compare"), "batch": list(batch), "precision": precisions, "limit": limit,
               "shard": shard, "counts": _path_text(counts, "counts")}
    with layers_removed():
        return _watched(progress, library.mpm_evaluate, path_of(model, "model"), json.dumps(options).encode())


def _to_tune_on(images: Any) -> Tuple[str, List[Image]]:
    """Returns the address of a source and no images, or an empty address and images."""
    if type(images) is int:
        return str(images), []
    if image_files.is_path(images):
        return _path_text(images, "images"), []
    several = list(images)
    most = 4 * 16  # more images than needed, because tuning does not use images of a single colour
    chosen = several if len(several) <= most else [several[i * len(several) // most] for i in range(most)]
    return "", [image_files.load(image, "images[%d]" % i)[0] for i, image in enumerate(chosen)]


def tune(
    model: Path,
    images: Union[Iterable[AnyImage], Path, int],
    *,
    keep: Optional[float] = None,
    faster: Optional[float] = None,
    minutes: float = 2.0,
    precision: str = "f32",
    write: bool = False,
    progress: Optional[Progress] = None,
) -> Dict[str, Any]:
    """Chooses a method and its blocks as `mpm tune` does, without labels, on images like those that the model will see.

    images: a list of images as for a call of a model, a folder, a video, an address or a camera's number; 16 are used.
    keep: chooses the fastest candidate that agrees with all tokens at least so much; 0.99 by default. faster: instead
    chooses the highest agreement among candidates that are at least this many times as fast. write: stores the choice in
    the model's file. Returns the report of `mpm tune --json`. Its entry "reached" is true if a candidate reaches the goal.
    """
    source, given = _to_tune_on(images)
    options = {"source": source, "keep": keep, "faster": faster, "minutes": minutes, "write": bool(write),
               "precision": text_of(precision, "precision")}
    videos.connect()
    with layers_removed():
        return _watched(progress, library.mpm_tune, path_of(model, "model"), views_of(given), len(given),
                        json.dumps(options).encode())


def join(counts: Sequence[Path]) -> Dict[str, Any]:
    """Joins the counts files of all shards of an evaluation. Returns the report of the whole evaluation."""
    paths = json.dumps([_path_text(path, "counts") for path in counts])
    result: Dict[str, Any] = reported(library.mpm_join, paths.encode())
    return result
