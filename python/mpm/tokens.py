"""The functions mpm.merge, mpm.restore and mpm.compose."""

import ctypes
from operator import index
from typing import Any

import numpy

from ._library import Error, call, checked, library, view_of
from .arguments import Initialised, wrong_type
from .arrays import Floats, Ids


class Merged(Initialised):
    """The tokens after a merge, and the merge map."""

    __slots__ = ("_tokens", "_map")

    def __init__(self, tokens: Floats, map: Ids) -> None:
        self._tokens, self._map = tokens, map

    @property
    def tokens(self) -> Floats:
        """The mean of each cluster, float32."""
        return self._tokens

    @property
    def map(self) -> Ids:
        """The cluster of each image token, int32."""
        return self._map

    def __repr__(self) -> str:
        return "Merged(%d rows of %d values from %d image tokens)" % (*self._tokens.shape, self._map.size)


def _tokens(value: Any) -> Floats:
    tokens = checked(value, "tokens", ("float32",), 2)
    if tokens.shape[1] == 0:
        raise ValueError("tokens: expected the shape (tokens, values), with at least one value, got %s" % (tokens.shape,))
    return tokens


def _special(value: Any, most: int) -> int:
    """Checks and returns the number of special tokens, which must fit into 32 bits for C."""
    try:
        special = index(value)
    except TypeError:
        raise wrong_type("special", "a whole number", value) from None
    if not 0 <= special <= most:
        raise Error("special: expected 0 to %d, the number of tokens, got %d" % (most, special))
    return special


def merge(tokens: Floats, special: int = 0) -> Merged:
    """Merges mutual pairs once. tokens: float32, (special + image tokens, values)."""
    given = _tokens(tokens)
    special = _special(special, len(given))
    merged, map = numpy.empty_like(given), numpy.empty(len(given) - special, numpy.int32)
    rows = ctypes.c_int()
    call(library.mpm_merge_tokens, view_of(given, "tokens"), special, merged.ctypes.data, rows, map.ctypes.data)
    return Merged(merged[: rows.value].copy(), map)


def restore(tokens: Floats, map: Ids, special: int = 0) -> Floats:
    """Reverses merge(): returns the row of its cluster for each token."""
    given, clusters = _tokens(tokens), checked(map, "map", ("int32",), 1)
    special = _special(special, len(given))
    restored = numpy.empty((special + clusters.size, given.shape[1]), numpy.float32)
    call(library.mpm_restore_tokens, view_of(given, "tokens"), clusters.ctypes.data, clusters.size, special,
         restored.ctypes.data)
    return restored


def compose(first: Ids, second: Ids) -> Ids:
    """Joins the maps of two merges: result[i] = second[first[i]]."""
    before, after = checked(first, "first", ("int32",), 1), checked(second, "second", ("int32",), 1)
    composed = numpy.empty_like(before)
    call(library.mpm_compose_maps, before.ctypes.data, before.size, after.ctypes.data, after.size,
         composed.ctypes.data)
    return composed
