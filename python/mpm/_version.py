"""Why the extension module cannot be imported."""

import glob
import importlib.machinery
import os
import re
import sys


def explained(error: ImportError) -> ImportError:
    """The error, or a clearer one if the module was built for other versions of Python."""
    folder = os.path.dirname(os.path.abspath(__file__))
    files = [os.path.basename(path) for path in glob.glob(os.path.join(folder, "_mpm.*so"))]
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    if not files or any("_mpm" + suffix in files for suffix in suffixes):
        return error
    versions = [re.sub(r"_mpm\.cpython-(\d)(\d+).*", r"\1.\2", file) for file in files]
    return ImportError("mpm was built for Python %s; this is Python %d.%d (%s)" % (
        ", ".join(sorted(versions)), sys.version_info[0], sys.version_info[1], sys.executable))
