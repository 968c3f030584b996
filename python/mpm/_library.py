"""The library libmpm_core.so: its functions, errors and arrays."""

import ctypes
import json
import os
from typing import Any, Callable, List, NoReturn, Optional, Tuple

import numpy
from numpy.typing import NDArray


class Error(RuntimeError):
    """Raised if a model, a file or a setting cannot be used."""


class Unsupported(Error, ValueError):
    """Raised if the model or the machine does not support a setting."""


class Stopped(Exception):
    """Raised after the callback ended a long call."""


class Array(ctypes.Structure):
    """mpm_array of <mpm/mpm.h>."""

    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("dims", ctypes.c_int), ("sizes", ctypes.c_int * 8)]


_TYPES = ["float32", "int32", "uint8", "int8", "uint16", "int16", "float64", "int64"]  # in the order of C's numbers
_NUMBERS = {numpy.dtype(name): number for number, name in enumerate(_TYPES)}
_MOST = 2**31 - 1

Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)
_HANDLE, _TEXT, _INT, _ARRAYS = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Array)
_OUT, _INTS, _ERROR = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_void_p)

# The types of each function's arguments. Functions without an entry in _RETURNS return a status.
_TAKES = {
    "mpm_version": [], "mpm_last_error": [], "mpm_operator_type": [_INT], "mpm_free": [_HANDLE],
    "mpm_set_blocks": [_TEXT], "mpm_set_device": [_TEXT], "mpm_set_precision": [_TEXT], "mpm_set_reuse": [_TEXT],
    "mpm_begin_network": [], "mpm_end_network": [], "mpm_set_threads": [_INT],
    "mpm_report_images": [], "mpm_report_map": [_INT, _INTS, _INT], "mpm_report_tokens": [_INT, _INTS, _INT],
    "mpm_operator_new": [_TEXT], "mpm_operator_free": [_HANDLE], "mpm_operator_build": [_HANDLE],
    "mpm_operator_set_ints": [_HANDLE, _TEXT, _INTS, _INT],
    "mpm_operator_set_reals": [_HANDLE, _TEXT, ctypes.POINTER(ctypes.c_double), _INT],
    "mpm_operator_set_text": [_HANDLE, _TEXT, _TEXT], "mpm_operator_add_constant": [_HANDLE, _ARRAYS],
    "mpm_operator_outputs": [_HANDLE, _ARRAYS, _INT, _ARRAYS, _INT],
    "mpm_operator_run": [_HANDLE, _ARRAYS, _INT, _ARRAYS, _INT],
    "mpm_buffer_array": [_HANDLE, _ARRAYS], "mpm_buffer_free": [_HANDLE],
    "mpm_model_open": [_TEXT, _INT, _INT, _OUT, _ERROR], "mpm_model_free": [_HANDLE], "mpm_model_describe": [_HANDLE, _OUT, _ERROR],
    "mpm_model_set": [_HANDLE, _TEXT, _TEXT, _ERROR], "mpm_model_forget": [_HANDLE, _TEXT, _ERROR],
    "mpm_model_run": [_HANDLE, _ARRAYS, ctypes.POINTER(_TEXT), _INT, _OUT, _ERROR],
    "mpm_tracker_new": [], "mpm_tracker_free": [_HANDLE], "mpm_result_tracks": [_HANDLE],
    "mpm_model_track": [_HANDLE, _ARRAYS, ctypes.POINTER(_TEXT), ctypes.POINTER(_HANDLE), ctypes.POINTER(ctypes.c_double),
                        _INT, _OUT, _ERROR],
    "mpm_result_free": [_HANDLE], "mpm_result_describe": [_HANDLE], "mpm_result_array": [_HANDLE, _TEXT, _ARRAYS],
    "mpm_result_mask": [_HANDLE, _INT, _ARRAYS], "mpm_result_overlay": [_HANDLE, _ARRAYS, _OUT, _ERROR],
    "mpm_network_check": [_TEXT, _ERROR],
    "mpm_network_open": [_TEXT, _OUT, _ERROR], "mpm_network_free": [_HANDLE], "mpm_network_outputs": [_HANDLE],
    "mpm_network_set_input": [_HANDLE, _TEXT, _ARRAYS, _ERROR],
    "mpm_network_forward": [_HANDLE, ctypes.POINTER(_TEXT), _INT, _OUT, _ERROR],
    "mpm_merge_tokens": [_ARRAYS, _INT, _HANDLE, _INTS, _HANDLE, _ERROR],
    "mpm_restore_tokens": [_ARRAYS, _HANDLE, _INT, _INT, _HANDLE, _ERROR],
    "mpm_compose_maps": [_HANDLE, _INT, _HANDLE, _INT, _HANDLE, _ERROR],
    "mpm_source_open": [_TEXT, _OUT, Progress, _ERROR], "mpm_source_free": [_HANDLE],
    "mpm_source_next": [_HANDLE, _OUT, _OUT, _OUT, Progress, _ERROR], "mpm_source_seconds": [_HANDLE],
    "mpm_image_read": [_TEXT, _OUT, _ERROR], "mpm_image_write": [_TEXT, _ARRAYS, _ERROR],
    "mpm_convert": [_TEXT, _TEXT, _TEXT, _OUT, _ERROR], "mpm_model_info": [_TEXT, _OUT, _ERROR],
    "mpm_bench": [_TEXT, _ARRAYS, _INT, _TEXT, Progress, _OUT, _ERROR],
    "mpm_tune": [_TEXT, _ARRAYS, _INT, _TEXT, Progress, _OUT, _ERROR],
    "mpm_evaluate": [_TEXT, _TEXT, Progress, _OUT, _ERROR], "mpm_join": [_TEXT, _OUT, _ERROR],
    "mpm_register_native": [_ERROR],
}
_RETURNS = {
    "mpm_version": _TEXT, "mpm_last_error": _TEXT, "mpm_operator_type": _TEXT, "mpm_operator_new": _HANDLE,
    "mpm_result_describe": _HANDLE, "mpm_network_outputs": _HANDLE,
    "mpm_tracker_new": _HANDLE, "mpm_tracker_free": None, "mpm_result_tracks": _HANDLE, "mpm_source_seconds": ctypes.c_double,
    "mpm_free": None, "mpm_begin_network": None, "mpm_end_network": None, "mpm_set_threads": None,
    "mpm_operator_free": None, "mpm_buffer_array": None, "mpm_buffer_free": None, "mpm_model_free": None,
    "mpm_result_free": None, "mpm_network_free": None, "mpm_source_free": None,
}


def _load() -> ctypes.CDLL:
    folder = os.path.dirname(os.path.abspath(__file__))
    library = ctypes.CDLL(os.path.join(folder, "libmpm_core.so"))
    for name, takes in _TAKES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = takes, _RETURNS.get(name, _INT)
    return library


library = _load()


def last_error() -> str:
    """Returns why an operator last failed in this thread. cv2 reports only the failure."""
    return str(library.mpm_last_error().decode("utf-8", "replace"))


def fail() -> NoReturn:
    """Raises an Error with the reason why a function of <mpm/mpm.h> failed."""
    raise Error(last_error())


def taken(text: Optional[int]) -> str:
    """Copies a string of the library, then releases it."""
    if not text:
        raise MemoryError
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        library.mpm_free(text)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function of mpm_model.h. Raises an exception after a failure."""
    error = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(error))
    if status == 0:
        return
    message = taken(error.value) if error.value else ""
    if status == 3:
        raise Stopped
    raise (ValueError if status == 2 else Error)(message)


def reported(function: Callable[..., int], *arguments: Any) -> Any:
    """Calls a function that writes JSON as its last result, and returns the parsed JSON."""
    report = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(report))
    return json.loads(taken(report.value))


class Handle:
    """Owns an object of the library."""

    __slots__ = ("address", "_free")

    def __init__(self, address: Optional[int], free: Callable[[int], None]) -> None:
        self.address, self._free = address, free

    def close(self) -> None:
        address, self.address = self.address, None
        if address:
            self._free(address)

    def __del__(self) -> None:
        self.close()


class _Memory:
    """The library's memory for NumPy. An array over this memory keeps `owner` alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, array: Array, owner: object) -> None:
        kind = numpy.dtype(_TYPES[array.type])
        shape = tuple(array.sizes[: array.dims])
        self.__array_interface__ = {
            "version": 3, "typestr": kind.str, "shape": shape, "data": (array.data or 0, False)}
        self.owner = owner


def array_over(array: Array, owner: object) -> NDArray[Any]:
    """Returns a NumPy array over the library's memory, which belongs to `owner`."""
    if not array.data:
        return numpy.zeros(tuple(array.sizes[: array.dims]), _TYPES[array.type])
    return numpy.asarray(_Memory(array, owner))


def array_of_buffer(address: Optional[int]) -> NDArray[Any]:
    """Returns a NumPy array that owns the library's buffer."""
    buffer, array = Handle(address, library.mpm_buffer_free), Array()
    library.mpm_buffer_array(address, ctypes.byref(array))
    return array_over(array, buffer)


def view_of(array: NDArray[Any], name: str = "array") -> Array:
    """Returns the array for C. `array` must have no gaps, and the caller must keep it alive."""
    if not 1 <= array.ndim <= 8:
        raise ValueError("%s: expected 1 to 8 dimensions" % name)
    if array.size > _MOST or any(side > _MOST for side in array.shape):
        raise ValueError("%s: the array has too many elements" % name)
    sizes = (ctypes.c_int * 8)(*array.shape)
    return Array(array.ctypes.data, _NUMBERS[array.dtype], array.ndim, sizes)


def checked(value: Any, name: str, types: Tuple[str, ...], dims: int = 0) -> NDArray[Any]:
    """Checks `value` and returns an aligned array without gaps, as a copy if necessary."""
    expected = "a NumPy array of " + " or ".join(types)
    if not isinstance(value, numpy.ndarray):
        raise TypeError("%s: expected %s, got %s" % (name, expected, type(value)))
    if value.dtype not in [numpy.dtype(kind) for kind in types]:
        raise TypeError("%s: expected %s, got one of %s" % (name, expected, value.dtype))
    if dims and value.ndim != dims:
        raise ValueError("%s: expected the shape of %d dimensions, got %s" % (name, dims, value.shape))
    if value.flags.c_contiguous and value.flags.aligned:
        return value
    return value.copy("C")


def ints(values: List[int]) -> Any:
    """Returns the numbers for C."""
    return (ctypes.c_int * len(values))(*values)
