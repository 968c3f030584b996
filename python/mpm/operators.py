"""Operators, settings of the process, and reports of <mpm/mpm.h>, for the layers of register()."""

import ctypes
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy
from numpy.typing import NDArray

from ._library import Array, Handle, checked, fail, ints, library, view_of
from .arguments import Initialised
from .arrays import Floats


def _check(status: int) -> int:
    if status < 0:
        fail()
    return status


def _views(arrays: Sequence[NDArray[Any]]) -> Any:
    return (Array * len(arrays))(*[view_of(array, "inputs[%d]" % i) for i, array in enumerate(arrays)])


class Operator(Initialised):
    """One of our operators. Only one thread at a time may use it."""

    __slots__ = ("_handle", "_constants", "_kept")

    def __init__(self, type: str, attributes: Dict[str, Any], constants: Sequence[Floats]) -> None:
        address = library.mpm_operator_new(type.encode())
        if not address:
            fail()
        self._handle = Handle(address, library.mpm_operator_free)
        for name, value in dict(attributes).items():
            self._set(name.encode(), value)
        # The operator reads these arrays later, so they must be kept.
        self._constants = [checked(value, "blobs", ("float32", "int32")) for value in constants]
        for constant in self._constants:
            _check(library.mpm_operator_add_constant(address, view_of(constant, "blobs")))
        _check(library.mpm_operator_build(address))
        self._kept: List[Floats] = []

    def _set(self, name: bytes, value: Any) -> None:
        address = self._handle.address
        if isinstance(value, str):
            _check(library.mpm_operator_set_text(address, name, value.encode()))
            return
        values = list(value) if isinstance(value, (list, tuple, numpy.ndarray)) else [value]
        try:
            whole = [operator.index(v) for v in values]
        except TypeError:
            reals = [float(v) for v in values]
            numbers = (ctypes.c_double * len(reals))(*reals)
            _check(library.mpm_operator_set_reals(address, name, numbers, len(reals)))
            return
        if any(abs(v) >= 2**31 for v in whole):
            raise ValueError("attributes: a number is too large")
        _check(library.mpm_operator_set_ints(address, name, ints(whole), len(whole)))

    def _outputs(self, inputs: Any) -> Any:
        address = self._handle.address
        count = _check(library.mpm_operator_outputs(address, inputs, len(inputs), None, 0))
        outputs = (Array * count)()
        _check(library.mpm_operator_outputs(address, inputs, len(inputs), outputs, count))
        return outputs

    def shapes(self, inputs: Sequence[Sequence[int]]) -> List[List[int]]:
        """Returns the shapes of the outputs."""
        views = (Array * len(inputs))()
        for view, sizes in zip(views, inputs):
            if not 1 <= len(sizes) <= 8:
                raise ValueError("inputs: expected 1 to 8 sizes")
            view.dims, view.sizes = len(sizes), (ctypes.c_int * 8)(*sizes)
        return [list(output.sizes[: output.dims]) for output in self._outputs(views)]

    def run(self, inputs: Sequence[Floats]) -> List[Floats]:
        """Computes the outputs as float32."""
        given = [checked(value, "inputs[%d]" % i, ("float32", "int32")) for i, value in enumerate(list(inputs))]
        views = _views(given)
        outputs = self._outputs(views)
        results = []
        for i, output in enumerate(outputs):
            shape = tuple(output.sizes[: output.dims])
            results.append(self._memory(i, shape))
            output.data = results[-1].ctypes.data
        _check(library.mpm_operator_run(self._handle.address, views, len(views), outputs, len(outputs)))
        return results

    def _memory(self, index: int, shape: Any) -> Floats:
        """Returns the array of the last forward if no other code uses it, because new memory costs page faults."""
        import sys

        while len(self._kept) <= index:
            self._kept.append(numpy.empty((0,), numpy.float32))
        # The list and getrefcount() have a reference each. Another reference means that the array is in use.
        if self._kept[index].shape != shape or sys.getrefcount(self._kept[index]) > 2:
            self._kept[index] = numpy.empty(shape, numpy.float32)
        return self._kept[index]


def operators() -> List[str]:
    """Returns the names of all operators."""
    names: List[str] = []
    while True:
        name = library.mpm_operator_type(len(names))
        if name is None:
            return names
        names.append(name.decode())


def _list(read: Callable[..., int], image: int) -> List[int]:
    count = _check(read(image, None, 0))
    values = (ctypes.c_int * count)()
    _check(read(image, values, count))
    return list(values)


def report() -> List[Dict[str, Any]]:
    """Returns `tokens` and `map` of each image in the last forward of a network of cv2 in this thread."""
    return [{"tokens": _list(library.mpm_report_tokens, image),
             "map": numpy.array(_list(library.mpm_report_map, image), numpy.int32)}
            for image in range(library.mpm_report_images())]


def set_default(setting: str, value: Optional[str]) -> None:
    """Sets blocks, method, device, precision or reuse for the process. None removes the setting."""
    text = None if value is None else value.encode()
    if getattr(library, "mpm_set_" + setting)(text) < 0:
        raise ValueError(library.mpm_last_error().decode("utf-8", "replace"))
