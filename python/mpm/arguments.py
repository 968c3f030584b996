"""Checks of arguments and properties. Errors name the argument and the expected value."""

import operator
import os
from typing import Any, List, Optional, Tuple

from .arrays import Path

_BLOCKS = "block numbers such as (2, 5), or text such as '2,5' or 'none'"


def wrong_type(name: str, expected: str, got: object) -> TypeError:
    return TypeError("%s: expected %s, got %r" % (name, expected, got))


def path_of(value: Path, name: str) -> bytes:
    """Converts text or a pathlib.Path to bytes, as the system encodes paths."""
    try:
        path = os.fsencode(value)
    except TypeError:
        raise wrong_type(name, "a path", value) from None
    if b"\0" in path:
        raise ValueError("%s: the path has a null character" % name)
    return path


def share_text(value: Any, name: str) -> str:
    """Returns a number as JSON. The library checks the range."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        return repr(float(value))
    except (TypeError, ValueError):
        raise wrong_type(name, "a number of 0 to 1", value) from None


def text_of(value: Any, name: str, expected: str = "text") -> str:
    if not isinstance(value, str):
        raise wrong_type(name, expected, value)
    return value


def whole_numbers(value: Any, name: str, expected: str) -> List[int]:
    """Returns the whole numbers of a sequence."""
    if isinstance(value, (str, bytes)):
        raise wrong_type(name, expected, value)
    try:
        items = list(value)
        numbers = [operator.index(item) for item in items]
    except TypeError:
        raise wrong_type(name, expected, value) from None
    if any(isinstance(item, bool) for item in items):
        raise wrong_type(name, expected, value)
    if any(abs(number) >= 2**31 for number in numbers):
        raise ValueError("%s: a number is too large" % name)
    return numbers


def size_of(value: Any) -> Optional[Tuple[int, int]]:
    """Returns (rows, columns), or None."""
    if value is None:
        return None
    expected = "(rows, columns), above 0"
    sides = whole_numbers(value, "size", expected)
    if len(sides) != 2:
        raise wrong_type("size", expected, value)
    if min(sides) < 1:
        raise ValueError("size: expected %s, got %r" % (expected, value))
    return sides[0], sides[1]


def blocks_text(value: Any) -> str:
    """Returns text such as "2,5" or "none"."""
    if isinstance(value, str):
        return value
    return ",".join(str(block) for block in whole_numbers(value, "blocks", _BLOCKS)) or "none"


def blocks_of(value: Any) -> List[int]:
    """Returns block numbers from a sequence, or from text as on the command line: "2,5" or "none"."""
    if not isinstance(value, str):
        return whole_numbers(value, "blocks", _BLOCKS)
    if value == "none":
        return []
    parts = value.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        raise ValueError("blocks: expected %s, got %r" % (_BLOCKS, value))
    return [int(part) for part in parts]


class Initialised:
    """A base class: raises a clear error if __init__() was not called, as after Model.__new__(Model)."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            raise TypeError("the object is not initialised: its __init__() has not been called")
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
