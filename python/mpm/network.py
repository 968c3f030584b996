"""The class that mpm.readNet returns if cv2 cannot have our operators. It runs networks in this package's own OpenCV."""

import ctypes
import json
import threading
from typing import Any, List, Optional, Sequence, Tuple, Union, overload

from ._library import Handle, array_of_buffer, call, checked, library, taken, view_of
from .arguments import Initialised, path_of
from .arrays import Floats, Path


class Net(Initialised):
    """A network with the functions of cv2.dnn.Net that programs use most. Only one thread at a time may use it."""

    __slots__ = ("_handle", "_lock")

    def __init__(self, path: Path) -> None:
        handle = ctypes.c_void_p()
        call(library.mpm_network_open, path_of(path, "path"), ctypes.byref(handle))
        self._handle, self._lock = Handle(handle.value, library.mpm_network_free), threading.Lock()

    def setInput(self, blob: Floats, name: str = "") -> None:
        """Sets an input. blob: float32, such as from cv2.dnn.blobFromImage(); or int64 or int32."""
        given = checked(blob, "blob", ("float32", "int64", "int32"))
        with self._lock:
            call(library.mpm_network_set_input, self._handle.address, name.encode(), view_of(given, "blob"))

    def getUnconnectedOutLayersNames(self) -> List[str]:
        """Returns the names of the outputs."""
        with self._lock:
            names: List[str] = json.loads(taken(library.mpm_network_outputs(self._handle.address)))
        return names

    @overload
    def forward(self, outputName: Optional[str] = ...) -> Floats: ...
    @overload
    def forward(self, outputName: Union[List[str], Tuple[str, ...]]) -> List[Floats]: ...
    def forward(self, outputName: Union[str, List[str], Tuple[str, ...], None] = None) -> Any:
        """Returns the output with this name, or of the last layer without a name. For a list of names, returns a list."""
        single = outputName is None or isinstance(outputName, str)
        names: Sequence[str] = [outputName or ""] if isinstance(outputName, str) or outputName is None else outputName
        texts = (ctypes.c_char_p * len(names))(*[name.encode() for name in names])
        found = (ctypes.c_void_p * len(names))()
        with self._lock:
            call(library.mpm_network_forward, self._handle.address, texts, len(names), found)
        outputs = [array_of_buffer(address) for address in found]
        return outputs[0] if single else outputs
