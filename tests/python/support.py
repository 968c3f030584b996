"""Shared by the tests of the Python package: paths from the environment, images, memory."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy

TINY = os.environ["MPM_TINY_MODEL"]  # 32x32 pixels, 16 tokens, features of 3 values
TOOL = os.environ["MPM_TOOL"]  # the program mpm
SOURCE = os.environ["MPM_SOURCE_DIR"]


def image(rows=48, columns=64, seed=1):
    """Smooth noise, which has alike tokens."""
    random = numpy.random.default_rng(seed)
    coarse = random.integers(0, 256, (rows // 8, columns // 8, 3), dtype=numpy.uint8)
    return numpy.ascontiguousarray(coarse.repeat(8, axis=0).repeat(8, axis=1))


def resident():
    """Bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_new_process(code, **environment):
    """Runs `code` in a separate interpreter and returns the output. Fails with the interpreter's errors."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError("status %d: %s" % (done.returncode, done.stderr))
    return done.stdout, done.stderr


class FolderTest(unittest.TestCase):
    """Each test has a separate folder."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
