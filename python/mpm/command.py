"""The command `mpm` of pip's package: the same program as elsewhere, with videos from the installed cv2."""

import ctypes
import os
import signal
import sys

from . import videos
from ._library import library


def main() -> None:
    """Runs the program with the arguments of this process. Exits with the program's status."""
    if not hasattr(library, "mpm_command"):
        sys.exit("mpm: this package has no program; it is in the package mpm")
    videos.connect()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = [b"mpm"] + [os.fsencode(argument) for argument in sys.argv[1:]]
    texts = (ctypes.c_char_p * (len(arguments) + 1))(*arguments)
    status = library.mpm_command(len(arguments), texts)
    sys.stdout.flush()
    sys.exit(status)


if __name__ == "__main__":
    main()
