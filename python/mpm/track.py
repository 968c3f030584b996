"""Objects that keep their identity from frame to frame of a stream."""

import threading
from typing import Any, Dict, List, NamedTuple, Tuple

from ._library import Handle, library

_MOST_STREAMS = 64


class Track(NamedTuple):
    """An object in a frame. Times are in seconds of the stream's clock; boxes and points are in pixels of the image."""

    id: int
    """The identity, 1 or more: the same in all frames of the stream."""
    label: int
    """The class id."""
    name: str
    """The class name."""
    box: Tuple[float, float, float, float]
    """Left, top, right and bottom of the object's last box."""
    score: float
    """The score of the last box."""
    state: str
    """arrived, moves or stays; or left, only once, after the object has gone."""
    seen: bool
    """Whether the object has a box in this frame."""
    since: float
    """The time at which the object was first seen."""
    dwell: float
    """The time from `since` until the object was last seen."""
    path: List[Tuple[float, float]]
    """The centres of the object's boxes."""


def track_of(facts: Dict[str, Any]) -> Track:
    """Makes a track from the library's JSON."""
    values: Dict[str, Any] = {**facts, "box": tuple(facts["xyxy"]), "path": [(x, y) for x, y in facts["path"]]}
    return Track(**{name: values[name] for name in Track._fields})


def new_tracker() -> Handle:
    address = library.mpm_tracker_new()
    if not address:
        raise MemoryError
    return Handle(address, library.mpm_tracker_free)


class Trackers:
    """The trackers of streams, by key; the most recently used is the last."""

    __slots__ = ("_guard", "_by_stream")

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_stream: Dict[bytes, Handle] = {}

    def of(self, stream: bytes) -> Handle:
        with self._guard:
            known = self._by_stream.pop(stream, None)
            tracker = new_tracker() if known is None else known
            self._by_stream[stream] = tracker
            if len(self._by_stream) > _MOST_STREAMS:
                del self._by_stream[next(iter(self._by_stream))]
            return tracker

    def forget(self, stream: Any = None) -> None:
        """Removes the tracker of one stream, or all trackers."""
        with self._guard:
            if stream is None:
                self._by_stream.clear()
            else:
                self._by_stream.pop(stream, None)
