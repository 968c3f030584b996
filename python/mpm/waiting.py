"""Calls of the library that may take long, in a thread of their own."""

import queue
import threading
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from . import _library

Answer = TypeVar("Answer")


def _wait_for(thread: threading.Thread) -> None:
    """Waits through further Ctrl-C: the thread reads the caller's arguments until its round ends."""
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            pass


def watched(watch: Callable[[int, int], object], work: Callable[[Any], Answer]) -> Answer:
    """Runs `work`, which gives the library its callback, in a thread, so that signals and exceptions of `watch(done, total)`
    end it: what is raised in a callback of ctypes is lost."""
    events: "queue.SimpleQueue[Optional[Tuple[int, int]]]" = queue.SimpleQueue()
    stop, outcome, failure = threading.Event(), [], []  # type: ignore[var-annotated]

    def report(done: int, total: int) -> int:
        if total:
            events.put((done, total))
        return int(stop.is_set())

    def run() -> None:
        try:
            outcome.append(work(callback))
        except Exception as error:
            failure.append(error)
        events.put(None)

    # A loop in the block of `try` would not do: Python 3.14 skips `finally` if a signal arrives at the loop's jump.
    def follow() -> None:
        for event in iter(events.get, None):
            watch(*event)

    callback = _library.Progress(report)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        follow()
    finally:
        stop.set()
        _wait_for(thread)
    if failure:
        raise failure[0]
    answers: List[Answer] = outcome
    return answers[0]
