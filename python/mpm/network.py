"""mpm.readNet for a cv2 that cannot have our operators: the network runs in this package's own OpenCV."""

import ctypes
import json
import threading
from typing import Any, List, Optional, Sequence, Tuple, Union, overload

from ._library import Handle, array_of_buffer, call, checked, library, taken, view_of
from .arguments import Initialised, path_of
from .arrays import Floats, Path


class Net(Initialised):
    """A network with the functions of cv2.dnn.Net that programs use most. For one thread at a time."""

    __slots__ = ("_handle", "_lock")

    def __init__(self, path: Path) -> None:
        handle = ctypes.c_void_p()
        call(library.mpm_network_open, path_of(path, "path"), ctypes.byref(handle))
        self._handle, self._lock = Handle(handle.value, library.mpm_network_free), threading.Lock()

    def setInput(self, blob: Floats, name: str = "") -> None:
        """Sets an input. blob: float32, as from cv2.dnn.blobFromImage()."""
        given = checked(blob, "blob", ("float32", "int64", "int32"))
        with self._lock:
            call(library.mpm_network_set_input, self._handle.address, name.encode(), view_of(given, "blob"))

    def getUnconnectedOutLayersNames(self) -> List[str]:
        """The names of the outputs."""
        with self._lock:
            names: List[str] = json.loads(taken(library.mpm_network_outputs(self._handle.address)))
        return names

    @overload
    def forward(self, outputName: Optional[str] = ...) -> Floats: ...
    @overload
    def forward(self, outputName: Union[List[str], Tuple[str, ...]]) -> List[Floats]: ...
    def forward(self, outputName: Union[str, List[str], Tuple[str, ...], None] = None) -> Any:
        """Returns the output with this name, or of the last layer; for a list of names, a list."""
        single = outputName is None or isinstance(outputName, str)
        names: Sequence[str] = [outputName or ""] if isinstance(outputName, str) or outputName is None else outputName
        texts = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
        found = (ctypes.c_void_p * len(names))()
        with self._lock:
            call(library.mpm_network_forward, self._handle.address, texts, len(names), found)
        outputs = [array_of_buffer(address) for address in found]
        return outputs[0] if single else outputs
