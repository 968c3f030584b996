"""Long calls of the library in a separate thread."""

import queue
import threading
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from . import _library

Answer = TypeVar("Answer")


def _wait_for(thread: threading.Thread) -> None:
    """Waits for the thread even after another Ctrl-C, because it reads the caller's arguments until its round ends."""
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            pass


def watched(watch: Callable[[int, int], object], work: Callable[[Any], Answer]) -> Answer:
    """Runs `work` in a thread and `watch(done, total)` in this thread, so that signals and exceptions of `watch` end the
    work; ctypes would lose an exception that a callback raises. `work` must pass its argument to the library as the
    callback."""
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

    # The loop is not in the block of `try`, because Python 3.14 skips `finally` if a signal arrives at the loop's
    # jump.
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
