"""The registration of our operators in any cv2, and the reading of networks that contain them."""

import logging
import os
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Type, Union

import numpy

from ._library import Error, call, library
from .arguments import blocks_text, path_of
from .arrays import Floats, Path
from .network import Net
from .operators import Operator, operators, set_default

_guard = threading.RLock()
# Registered classes, by the name that OpenCV looks for. The dict keeps the classes alive, because cv2 calls them but
# keeps no reference.
_layers: Dict[str, type] = {}
_configured: Dict[str, Optional[str]] = {}  # set by configure()
_configuring = threading.Lock()


class _OwnMat(numpy.ndarray[Any, numpy.dtype[Any]]):
    """An array whose last axis is not channels, for a cv2 without the class Mat."""

    wrap_channels = False


def _mat_type(cv2: Any) -> Any:
    """Returns a function that marks an array. In an unmarked array, cv2 takes the last of three axes for channels."""
    if hasattr(cv2, "Mat"):
        return cv2.Mat
    if hasattr(cv2, "_registerMatType"):  # Debian's python3-opencv has only the extension module
        cv2._registerMatType(_OwnMat)
    return lambda array: array.view(_OwnMat)


def _without_exceptions(method: Callable[..., List[Any]]) -> Callable[..., List[Any]]:
    """Makes a layer's method log an exception and return no results, after which cv2 throws cv2.error. An exception that
    left the method would block the process, because cv2 would throw without releasing the interpreter's lock."""

    def guarded(*arguments: Any) -> List[Any]:
        try:
            return method(*arguments)
        except BaseException as error:  # also KeyboardInterrupt
            logging.getLogger("mpm").error("%s", str(error) or type(error).__name__)
            return []

    return guarded


def _layer_class(operator: str, mat: Any) -> Type[Any]:
    """Returns a class for cv2.dnn_registerLayer."""

    class Layer:
        def __init__(self, params: Dict[str, Any], blobs: Sequence[Floats]) -> None:
            # cv2 passes the weights only to this function; the operator keeps the arrays.
            self._operator = Operator(operator, dict(params), [_plain(blob) for blob in blobs])

        @_without_exceptions
        def getMemoryShapes(self, inputs: Sequence[Sequence[int]]) -> List[List[int]]:
            return self._operator.shapes([list(shape) for shape in inputs])

        @_without_exceptions
        def forward(self, inputs: Sequence[Floats]) -> List[Any]:
            return [mat(output) for output in self._operator.run([_plain(given) for given in inputs])]

    Layer.__name__ = Layer.__qualname__ = operator
    return Layer


def _plain(array: Optional[Floats]) -> Floats:
    """Returns the array without gaps. cv2 passes None for a matrix without elements."""
    if array is None:
        return numpy.zeros((0,), numpy.float32)
    return numpy.ascontiguousarray(array)


def _cv2() -> Any:
    """Returns the installed cv2, or None."""
    try:
        import cv2  # type: ignore  # newer versions of mypy use another error code
    except ImportError:
        return None
    return cv2


def _takes_classes(cv2: Any) -> bool:
    """Whether cv2 supports layers in Python. 5.x does not: it never asks a class for its outputs' shapes."""
    return cv2 is not None and int(cv2.__version__.split(".")[0]) < 5


def _shares_libraries() -> bool:
    """Whether cv2 and this package share OpenCV's libraries, as on Debian. pip's cv2 and our wheel do not."""
    if hasattr(library, "mpm_command"):  # the wheel
        return False
    with open("/proc/self/maps") as maps:
        return "libopencv_dnn" in maps.read()


def register(native: bool = False) -> None:
    """Registers all our operators in cv2, so that cv2.dnn.readNetFromONNX() can read converted models.

    By default, each operator is a Python class over the C interface. This works in every cv2 4.x, whether or not
    OpenCV's libraries are linked into cv2. native: uses the C++ layers instead, for a cv2 that uses the same OpenCV
    libraries as this package, as Debian's does. Repeated calls are allowed. A program that runs for days should use
    mpm.Model, because cv2 leaks 64 bytes at each call of a Python class.
    """
    cv2 = _cv2()
    if cv2 is None:
        raise Error("register: there is no cv2; mpm.Model and mpm.readNet() need none")
    if not native and not _takes_classes(cv2):
        raise Error("register: cv2 %s cannot have layers in Python; use mpm.Model or mpm.readNet()" % cv2.__version__)
    if native and not _shares_libraries():
        raise Error("register: native needs a cv2 and an mpm that share OpenCV's libraries, as Debian's packages do")
    with _guard:
        if native:
            _remove(cv2)
            _layers.clear()
            call(library.mpm_register_native)
            return
        if _layers:
            return
        mat = _mat_type(cv2)
        for operator in operators():
            # OpenCV 4.x looks for the name with the domain; the engine of 5.x looks for the name without it.
            _layers["mpm." + operator] = _layers[operator] = _layer_class(operator, mat)
        _add(cv2)


def _add(cv2: Any) -> None:
    for name, layer in _layers.items():
        cv2.dnn_registerLayer(name, layer)


def _remove(cv2: Any) -> None:
    for name in _layers:
        cv2.dnn_unregisterLayer(name)


@contextmanager
def layers_removed() -> Iterator[None]:
    """Removes the classes of register() while this package reads or runs a network, in every thread.

    Debian's cv2 uses the same OpenCV libraries as this package, so OpenCV would use these classes, not the C++ layers.
    """
    with _guard:
        cv2 = _cv2() if _layers else None
        if cv2 is not None:
            _remove(cv2)
            try:
                yield
            finally:
                _add(cv2)
            return
    yield  # without the lock, because the call may take hours


def readNet(path: Path) -> Any:
    """Registers the operators, and reads an ONNX file as a cv2.dnn.Net without OpenCV's warnings.

    Without cv2, or with cv2 5, returns a Net of this package, which has setInput(), forward() and
    getUnconnectedOutLayersNames(). The network's settings come from configure() and the environment.
    """
    cv2 = _cv2()
    if not _takes_classes(cv2):
        with layers_removed():
            return Net(path)
    register()
    call(library.mpm_network_check, path_of(path, "path"))
    with _guard:
        # OpenCV 4.14 moved these functions to cv2.utils.logging.
        log = cv2 if hasattr(cv2, "getLogLevel") else cv2.utils.logging
        before = log.getLogLevel()
        log.setLogLevel(min(before, 2))  # 2: errors only
        library.mpm_begin_network()
        try:
            return cv2.dnn.readNetFromONNX(os.fspath(path))
        finally:
            library.mpm_end_network()
            log.setLogLevel(before)


def configure(
    *,
    blocks: Union[Sequence[int], str, None] = None,
    method: Optional[str] = None,
    device: Optional[str] = None,
    precision: Optional[str] = None,
    reuse: Union[bool, str, None] = None,
) -> None:
    """Sets the settings of networks that cv2 read, from their next forward on. None: from the environment or the file.

    blocks: the blocks before which tokens merge, or "none". method: "mpm", "gentle", ... A Model uses these settings until
    its own are set. If a value is rejected, no setting changes.
    """
    if isinstance(reuse, bool):
        reuse = "on" if reuse else "off"
    wanted = {"blocks": None if blocks is None else blocks_text(blocks), "method": method, "device": device,
              "precision": precision, "reuse": reuse}
    with _configuring:
        try:
            for setting, value in wanted.items():
                set_default(setting, value)
        except BaseException:
            for setting in wanted:
                set_default(setting, _configured.get(setting))
            raise
        _configured.update(wanted)
