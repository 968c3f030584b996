"""The type hints: complete, equal to the module, and right for a program that uses the package."""

import os
import subprocess
import sys
import unittest

import mpm

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.abspath(mpm.__file__))


def run(*command):
    environment = {**os.environ, "MYPYPATH": os.path.dirname(PACKAGE), "MYPY_CACHE_DIR": os.path.join(os.path.dirname(PACKAGE), ".mypy_cache")}
    done = subprocess.run([sys.executable, "-m", *command], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, cwd=HERE)
    return done.returncode, done.stdout


class Types(unittest.TestCase):
    def test_the_package_and_a_program_are_typed(self):
        # Versions of mypy differ in the lines that need an ignore comment.
        status, output = run("mypy", "--strict", "--no-warn-unused-ignores", PACKAGE, os.path.join(HERE, "typed_program.py"))
        self.assertEqual(status, 0, output)

    def test_a_wrong_program_is_found(self):
        status, output = run("mypy", "--strict", "-c",
                             "import mpm\nmpm.Model('default').blocks = 2\nmpm.Model(3)\nreveal_type(mpm.merge)")
        self.assertEqual(status, 1, output)
        self.assertEqual(output.count("error:"), 2, output)

    def test_everything_public_has_a_docstring(self):
        for name in mpm.__all__:
            value = getattr(mpm, name)
            self.assertTrue((value.__doc__ or "").strip(), name)
            for member, attribute in vars(value).items() if isinstance(value, type) else ():
                if isinstance(attribute, property):
                    self.assertTrue((attribute.__doc__ or "").strip(), name + "." + member)


if __name__ == "__main__":
    unittest.main()
