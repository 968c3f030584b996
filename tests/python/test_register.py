"""mpm.register(): every operator of ours in a cv2 that has no C++ layers of ours."""

import os
import unittest

import cv2
import mpm
import numpy
from mpm import operators

from support import SOURCE, TINY, in_new_process

EXPORT = os.environ.get("MPM_SHARED_DIR", SOURCE + "/../shared") + "/fixtures/timm_deit3_layerscale.onnx"
STREET = SOURCE + "/models/zoo/street-vit-tiny.onnx"

# Tests run this code in a new process, because register() changes the whole process.
ALONE = """
import sys
sys.path.insert(0, {tests!r})
import cv2, numpy, mpm
from support import TINY, image
loaded = open("/proc/self/maps").read()
assert "libmpm.so" not in loaded, "the shared library is loaded"
""".format(tests=SOURCE + "/tests/python")

FORWARD = """
blob = numpy.random.default_rng(7).standard_normal({shape}, dtype=numpy.float32)
def forward(net):
    net.setInput(blob)
    return net.forward().copy()
"""


needs_layers = unittest.skipIf(int(cv2.__version__.split(".")[0]) >= 5, "cv2 5 cannot have layers in Python")


def alone(code, shape=(1, 3, 32, 32)):
    return in_new_process(ALONE + FORWARD.format(shape=shape) + code)


class Register(unittest.TestCase):
    def test_without_it_the_model_cannot_run(self):
        alone("""
try:
    forward(cv2.dnn.readNetFromONNX(TINY))
except cv2.error:
    pass
else:
    raise AssertionError("cv2 has the operators without register()")
""")

    @needs_layers
    def test_python_layers_equal_the_native_ones(self):
        for model, shape in [(TINY, (1, 3, 32, 32)), (STREET, (1, 3, 480, 640))]:
            with self.subTest(model):
                alone("""
model = {!r}
mpm.register()
mpm.register()
net = cv2.dnn.readNetFromONNX(model)
result = forward(net)
tokens, clusters = mpm.report()[0]["tokens"], mpm.report()[0]["map"]
assert "libmpm.so" not in open("/proc/self/maps").read()
mpm.register(native=True)
native = cv2.dnn.readNetFromONNX(model)
assert numpy.array_equal(forward(native), result), "the results differ"
assert mpm.report()[0]["tokens"] == tokens and numpy.array_equal(mpm.report()[0]["map"], clusters)
""".format(model), shape)

    def test_settings_reach_the_python_layers(self):
        alone("""
net = mpm.readNet(TINY)
mpm.configure(blocks=())
every = forward(net)
assert mpm.report()[0]["tokens"] == [16, 16, 16]
mpm.configure(blocks=(1,))
merged = forward(net)
assert mpm.report()[0]["tokens"][1] < 16 and not numpy.array_equal(merged, every)
mpm.configure(blocks=(1,), method="mpm:pairs=1")
forward(net)
assert mpm.report()[0]["tokens"][1] == 15
mpm.configure(blocks="none")
assert numpy.array_equal(forward(net), every)
for wrong in ({"blocks": "two"}, {"method": "best"}, {"device": "abacus"}, {"precision": "f8"}, {"reuse": "often"}):
    try:
        mpm.configure(**wrong)
    except ValueError:
        continue
    raise AssertionError("accepted: %r" % wrong)
assert numpy.array_equal(forward(net), every)
try:
    mpm.configure(blocks=(1,), precision="f8")
except ValueError:
    assert numpy.array_equal(forward(net), every), "half of it was used"
""")

    def test_a_failing_layer_gives_its_reason(self):
        alone("""
net = mpm.readNet(TINY)
mpm.configure(blocks=(99,))
try:
    forward(net)
except (cv2.error, mpm.Error) as error:
    assert "99" in str(error) or "99" in mpm.last_error(), mpm.last_error()
else:
    raise AssertionError("a model of three blocks merged before block 99")
mpm.configure()
forward(net)
""")

    def test_an_interrupt_is_a_failing_layer(self):
        from mpm.register import _without_exceptions

        def interrupted():
            raise KeyboardInterrupt

        with self.assertLogs("mpm") as log:
            self.assertEqual(_without_exceptions(interrupted)(), [])
        self.assertIn("KeyboardInterrupt", log.output[0])

    @needs_layers
    def test_models_keep_their_own_layers_beside_it(self):
        alone("""
mpm.register()
model = mpm.Model(TINY)
model.blocks = (1,)
assert model(image()).tokens[1] < 16
net = cv2.dnn.readNetFromONNX(TINY)
forward(net)
assert mpm.report()
""")

    @needs_layers
    @unittest.skipUnless(os.path.exists(EXPORT), "needs an export beside the project")
    def test_conversions_run_the_native_layers_beside_it(self):
        alone("""
import os, tempfile
mpm.register()
with tempfile.TemporaryDirectory() as folder:
    output = os.path.join(folder, "converted.onnx")
    mpm.convert({!r}, output, blocks=(1,))
    assert mpm.Model(output).blocks == (1,)
mpm.readNet(TINY)
""".format(EXPORT))

    @needs_layers
    def test_reading_is_quiet_and_leaves_the_log_level(self):
        code = "net = {}; forward(net); print(cv2.getLogLevel())"
        _, loud = alone("mpm.register(); " + code.format("cv2.dnn.readNetFromONNX(TINY)"))
        level, quiet = alone(code.format("mpm.readNet(TINY)"))
        self.assertIn("domain='mpm'", loud)
        self.assertEqual(quiet, "")
        self.assertEqual(level.strip(), str(cv2.getLogLevel()))

    def test_a_file_of_a_later_version_is_rejected(self):
        alone("""
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    later = os.path.join(folder, "later.onnx")
    with open(TINY, "rb") as model, open(later, "wb") as file:
        file.write(model.read() + b"\\x42\\x07\\x0a\\x03mpm\\x10\\x04")  # version 4 of the domain mpm
    try:
        mpm.readNet(later)
    except mpm.Error as error:
        assert "has version 4 of the domain mpm" in str(error), error
    else:
        raise AssertionError("accepted")
""")

    def test_many_forwards_do_not_grow(self):
        alone("""
from support import resident
net = mpm.readNet(TINY)
for _ in range(1000):
    forward(net)
before = resident()
for _ in range(3000):
    forward(net)
assert resident() - before < 5 * 2**20, resident() - before
""")


# cv2 4.x accepts layers in Python. With cv2 5.x or without cv2, the package runs the network.
OWN = """
import sys, types
{cv2}
sys.path.insert(0, {tests!r})
import numpy, mpm
from support import TINY, image
try:
    mpm.register()
except mpm.Error as error:
    assert {reason!r} in str(error), error
else:
    raise AssertionError("register() works")
net = mpm.readNet(TINY)
blob = numpy.random.default_rng(7).standard_normal((1, 3, 32, 32), dtype=numpy.float32)
net.setInput(blob)
out = net.forward()
names = net.getUnconnectedOutLayersNames()
assert numpy.array_equal(net.forward(names)[0], out) and numpy.array_equal(net.forward(names[0]), out)
mpm.configure(blocks=(1,))
net.setInput(blob)
merged = net.forward()
assert merged.shape == out.shape and not numpy.array_equal(merged, out)
assert mpm.Model(TINY)(image()).features is not None
kept = merged.copy()
mpm.configure()
net.setInput(blob)
assert numpy.array_equal(net.forward(), out) and numpy.array_equal(merged, kept)
for wrong in (lambda: net.setInput("blob"), lambda: net.forward("nothing"), lambda: mpm.readNet("missing.onnx")):
    try:
        wrong()
    except (mpm.Error, TypeError):
        continue
    raise AssertionError("accepted")
"""


class OwnNetwork(unittest.TestCase):
    """Without a cv2 that takes our operators."""

    def test_without_cv2(self):
        in_new_process(OWN.format(cv2="sys.modules['cv2'] = None", tests=SOURCE + "/tests/python", reason="no cv2"))

    def test_beside_cv2_5(self):
        if cv2.__version__.startswith("5."):
            in_new_process(OWN.format(cv2="import cv2", tests=SOURCE + "/tests/python", reason="cannot have layers"))
        five = "sys.modules['cv2'] = types.ModuleType('cv2'); sys.modules['cv2'].__version__ = '5.0.0'"
        in_new_process(OWN.format(cv2=five, tests=SOURCE + "/tests/python", reason="cv2 5.0.0 cannot"))

    @needs_layers
    def test_native_layers_need_shared_libraries(self):
        # Debian's cv2 has shared libraries, so the test replaces the list of files in the process.
        alone("""
import io
from unittest import mock
with mock.patch.object(sys.modules["mpm.register"], "open", lambda path: io.StringIO("cv2.abi3.so"), create=True):
    try:
        mpm.register(native=True)
    except mpm.Error as error:
        assert "share OpenCV" in str(error)
    else:
        raise AssertionError("registered")
""")

    @needs_layers
    def test_functions_of_the_log_that_moved(self):
        alone("""
level = cv2.getLogLevel()
cv2.utils.logging = types = __import__("types").SimpleNamespace(getLogLevel=cv2.getLogLevel, setLogLevel=cv2.setLogLevel)
del cv2.getLogLevel, cv2.setLogLevel
forward(mpm.readNet(TINY))
assert types.getLogLevel() == level
""")


class Operators(unittest.TestCase):
    """Operators directly, as the layers call them."""

    def test_all_of_the_document_are_there(self):
        with open(SOURCE + "/docs/reference/operators.md") as file:
            text = file.read()
        names = operators.operators()
        self.assertIn("MpmEncoder", names)
        for operator in names:
            self.assertIn(operator, text)

    def test_merge_and_restore(self):
        tokens = numpy.random.default_rng(2).standard_normal((1, 21, 8), dtype=numpy.float32)
        merge = operators.Operator("MpmMerge", {"special_tokens": 1}, [])
        merged, clusters, counts = merge.run([tokens])
        expected = mpm.merge(tokens[0], special=1)
        count = int(counts[0])
        self.assertEqual(count, expected.map.max() + 1)
        self.assertTrue(numpy.array_equal(merged[0, :1 + count], expected.tokens))
        restore = operators.Operator("MpmRestore", {"special_tokens": 1}, [])
        for ids in (clusters, clusters.astype(numpy.int32)):
            full, = restore.run([merged, ids])
            self.assertTrue(numpy.array_equal(full[0], mpm.restore(expected.tokens, expected.map, 1)))

    def test_constants_live_as_long_as_the_operator(self):
        weights = numpy.random.default_rng(4).standard_normal((8, 5), dtype=numpy.float32)
        tokens = numpy.random.default_rng(5).standard_normal((1, 6, 8), dtype=numpy.float32)
        constants = [weights.copy()]
        product = operators.Operator("MpmMatMul", {}, constants)
        constants.clear()
        for _ in range(50):
            numpy.full((8, 5), 9, numpy.float32)
        result, = product.run([tokens])
        self.assertTrue(numpy.allclose(result, tokens @ weights, atol=1e-4))

    def test_results_in_use_stay_as_they_are(self):
        product = operators.Operator("MpmMatMul", {}, [numpy.eye(8, dtype=numpy.float32)])
        tokens = [numpy.full((1, 6, 8), k, numpy.float32) for k in range(3)]
        first, = product.run([tokens[1]])
        view = product.run([tokens[2]])[0].ravel()[3:5]
        product.run([tokens[0]])
        product.run([tokens[0]])
        self.assertTrue((first == 1).all())
        self.assertTrue((view == 2).all())
        self.assertTrue(numpy.array_equal(product.run(product.run([tokens[2]]))[0], tokens[2]))
        self.assertEqual(product.run([tokens[0][:, :4]])[0].shape, (1, 4, 8))

    def test_wrong_use_is_an_exception(self):
        operator = operators.Operator
        tokens = numpy.zeros((1, 5, 8), numpy.float32)
        merge = operator("MpmMerge", {}, [])
        for call in [
            lambda: operator("MpmNothing", {}, []),
            lambda: operator("MpmMerge", {"special_tokens": -1}, []),
            lambda: operator("MpmMerge", {"special_tokens": "one"}, []),
            lambda: operator("MpmMerge", {"special_tokens": 2**40}, []),
            lambda: operator("MpmMerge", {"special_tokens": []}, []),
            lambda: operator("MpmEncoder", {}, []),
            lambda: operator("MpmMatMul", {}, [3]),
            lambda: merge.run([]),
            lambda: merge.run([tokens[0]]),
            lambda: merge.run([tokens.astype(numpy.float64)]),
            lambda: merge.shapes([[-1, 2, 3]]),
            lambda: merge.shapes([[2**30, 2**30, 3]]),
            lambda: merge.shapes([[1] * 9]),
        ]:
            with self.assertRaises((mpm.Error, TypeError, ValueError, RuntimeError)):
                call()
        self.assertEqual(merge.shapes([[1, 5, 8]])[0], [1, 5, 8])

    def test_views_are_copied(self):
        tokens = numpy.random.default_rng(6).standard_normal((1, 8, 5), dtype=numpy.float32).transpose(0, 2, 1)
        merge = operators.Operator("MpmMerge", {}, [])
        for left, right in zip(merge.run([tokens]), merge.run([tokens.copy()])):
            self.assertTrue(numpy.array_equal(left, right))

    def test_a_list_that_changes_meanwhile_is_harmless(self):
        values = []

        class Number:
            def __index__(self):
                values.clear()
                return 1

        values += [Number() for _ in range(1000)]
        with self.assertRaises((mpm.Error, TypeError, ValueError, RuntimeError)):
            operators.Operator("MpmMerge", {"special_tokens": values}, [])


if __name__ == "__main__":
    unittest.main()
