"""mpm.Model and the functions on tokens: equal to the C++ programs, and safe with wrong input."""

import copy
import gc
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import unittest

import cv2
import mpm
import numpy

from support import TINY, TOOL, FolderTest, image, in_new_process, resident


class EqualToTheProgram(FolderTest):
    def test_labels_and_tokens_are_those_of_mpm_run(self):
        path = os.path.join(self.folder, "frame.png")
        frame = cv2.resize(cv2.imread(os.path.join(os.environ["MPM_SOURCE_DIR"], "docs/images/street.jpg")), (320, 240))
        cv2.imwrite(path, frame)
        subprocess.run([TOOL, "run", "default", path, "--out", self.folder, "--save", "labels,overlay,csv", "--blocks", "3"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        model = mpm.Model("default")
        model.blocks = (3,)
        result = model(frame)
        written = cv2.imread(os.path.join(self.folder, "frame.labels.png"), cv2.IMREAD_UNCHANGED)
        self.assertTrue(numpy.array_equal(result.labels, written))
        self.assertTrue(numpy.array_equal(result.overlay, cv2.imread(os.path.join(self.folder, "frame.overlay.png"))))
        self.assertEqual(len(model.classes), 11)
        self.assertLess(result.tokens[3], result.tokens[2])
        with open(os.path.join(self.folder, "tokens.csv")) as file:
            row = file.read().splitlines()[1].replace(";", ",").replace('"', "")
        self.assertIn(str(result.tokens[3]), row)


class ShippedModel(FolderTest):
    """`default` belongs to the library, not to the program that uses it."""

    def test_card_and_recipe_name_what_the_model_merges(self):
        model = mpm.Model("default")
        self.assertEqual((model.method, model.blocks),
                         ("mpm:pairs=0.7,by=keys,mean=weighted,attention=proportional", (1, 3, 5, 7)))
        option = "--method %s:%s" % (model.method, "+".join(map(str, model.blocks)))
        folder = pathlib.Path(os.environ["MPM_SOURCE_DIR"], "models/zoo")
        self.assertIn("`%s`" % option, (folder / "README.md").read_text())
        self.assertIn(option + "\n", (folder / "recipe.sh").read_text())
        with_pairs = model(image(480, 640)).tokens
        self.assertEqual([with_pairs[block] < with_pairs[block - 1] for block in range(1, 9)], [True, False] * 4)

    def place(self, file, *folders):
        folder = os.path.join(self.folder, *folders)
        os.makedirs(folder, exist_ok=True)
        return shutil.copy(file, folder)

    def test_a_library_finds_the_model_of_its_prefix(self):
        # The last place is that of pip's package, which contains the model.
        for folders, prefix in ((("lib", "python3", "dist-packages"), "."), (("build", "python"), "build"),
                                (("env", "site-packages"), "env/site-packages/mpm")):
            package = os.path.join(self.folder, *folders, "mpm")
            shutil.copytree(os.path.dirname(mpm.__file__), package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            model = self.place(TINY, prefix, "share", "mpm")
            printed, _ = in_new_process("import mpm; print(mpm.__file__); print(mpm.Model('default').path)",
                                        PYTHONPATH=os.path.dirname(package), XDG_DATA_HOME="/nowhere")
            self.assertEqual(printed.split(), [os.path.join(package, "__init__.py"), os.path.realpath(model)])

    def test_a_model_beside_the_program_is_not_the_shipped_one(self):
        program = self.place(TOOL, "app", "bin")
        self.place(TINY, "app", "bin")
        data = os.path.join(self.folder, "data")

        def info():
            return subprocess.run([program, "info", "default"], env={**os.environ, "XDG_DATA_HOME": "relative", "XDG_DATA_DIRS": "relative:" + data},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        done = info()
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("%s/app/share/mpm, %s/mpm;" % (os.path.realpath(self.folder), data), done.stderr)
        self.place(TINY, "data", "mpm")
        self.assertEqual(info().returncode, 0)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = mpm.Model(TINY)

    def setUp(self):
        self.model.blocks = (1,)
        self.model.precision = "f32"
        self.model.reuse = False

    def test_features_map_and_times(self):
        result = self.model(image())
        self.assertEqual(result.features.shape, (16, 3))
        self.assertIsNone(result.labels)
        self.assertEqual(result.overlay.shape, (48, 64, 3))
        self.assertEqual((result.map.dtype, result.map.shape, result.grid), (numpy.int32, (16,), (4, 4)))
        self.assertEqual(set(result.map), set(range(result.tokens[1])))
        self.assertLess(result.tokens[1], 16)
        self.assertGreater(result.times.network, 0)
        self.assertEqual((result.device, result.precision, result.recomputed), ("cpu", "f32", 1.0))

    def test_a_list_gives_a_list(self):
        results = self.model([image()])
        self.assertEqual(len(results), 1)
        self.assertTrue(numpy.array_equal(results[0].features, self.model(image()).features))

    def test_views_are_copied(self):
        frame = image(rows=64, columns=96)
        for view in (frame[..., ::-1], frame[8:40, 16:80], frame[::2], frame.transpose(1, 0, 2), frame[::-1, ::-1]):
            copy = numpy.ascontiguousarray(view)
            self.assertTrue(numpy.array_equal(self.model(view).features, self.model(copy).features))
            self.assertTrue(numpy.array_equal(self.model(view).overlay, self.model(copy).overlay))

    def test_blocks_as_text(self):
        self.model.blocks = "0,1"
        self.assertEqual(self.model.blocks, (0, 1))
        self.model.blocks = "none"
        self.assertEqual(self.model.blocks, ())
        self.model.blocks = numpy.array([1])
        self.assertEqual(self.model.blocks, (1,))

    def test_a_list_runs_where_the_batch_is_fixed(self):
        model = mpm.Model("default")
        frames = [image(seed=1), image(seed=2)]
        results = model(frames)
        for frame, result in zip(frames, results):
            self.assertTrue(numpy.array_equal(result.labels, model(frame).labels))
        done = subprocess.run([TOOL, "bench", "default", "--batch", "2", "--rounds", "1", "--warm-up", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.assertIn("its batch is fixed at 1: use 1, or convert its original export with --batch 2", done.stderr)

    def test_streams_of_one_model_keep_their_own_state(self):
        model = mpm.Model(TINY)
        model.reuse = True
        yard, street = image(seed=1), image(seed=2)
        self.assertEqual(model(yard, stream="yard").recomputed, 1)
        self.assertEqual(model(street, stream=7).recomputed, 1)
        self.assertEqual(model(street, "7").recomputed, 1)
        for _ in range(3):
            self.assertLess(model(yard, stream="yard").recomputed, 0.5)
            self.assertLess(model(street, stream=7).recomputed, 0.5)
        self.assertLess(model([street, yard], stream=[7, "yard"])[1].recomputed, 0.5)
        model.forget("yard")
        self.assertLess(model(street, stream=7).recomputed, 0.5)
        self.assertEqual(model(yard, stream="yard").recomputed, 1)
        model.forget()
        self.assertEqual(model(street, stream=7).recomputed, 1)
        for camera in range(200):
            model(yard, stream=camera)
        self.assertEqual(model(yard, stream="yard").recomputed, 1)
        for stream, kind in [(1.5, TypeError), (b"yard", TypeError), (True, TypeError)]:
            with self.assertRaisesRegex(kind, "^stream: "):
                model(yard, stream=stream)
        for stream, kind in [("yard", TypeError), (["yard"], ValueError), (["yard", "yard"], ValueError)]:
            with self.assertRaisesRegex(kind, "^stream: "):
                model([yard, street], stream=stream)

    def test_texts_describe_the_objects(self):
        result = self.model(image())
        self.assertRegex(repr(self.model), r"^Model\('.*tiny.onnx', 32x32, blocks 1, f32\)$")
        self.assertRegex(repr(result), r"^Result\(tokens 16 to \d+, \d+\.\d ms\)$")
        self.assertRegex(repr(result.times), r"^Times\(prepare \d+\.\d\d, network .* ms\)$")
        self.assertRegex(repr(mpm.info(TINY)), r"^ModelInfo\(32x32, 0 labels, blocks ")
        self.assertEqual(repr(mpm.merge(numpy.eye(3, 4, dtype=numpy.float32))),
                         "Merged(2 rows of 4 values from 3 image tokens)")

    def test_settings_take_effect_at_the_next_call(self):
        merged = self.model(image()).features
        self.model.blocks = ()
        every = self.model(image())
        self.assertEqual((self.model.blocks, every.tokens), ((), [16, 16, 16]))
        self.assertFalse(numpy.array_equal(every.features, merged))
        self.model.reuse = True
        self.assertEqual(self.model.reuse, True)
        self.model(image())
        self.assertLess(self.model(image()).recomputed, 1)
        self.model.forget()
        self.assertEqual(self.model(image()).recomputed, 1)
        self.model.reuse = "refresh=60"
        self.assertEqual(self.model.reuse, "refresh=60")
        self.model.precision = "i8"
        self.assertEqual(self.model.precision, "i8")

    def test_wrong_input_is_an_exception(self):
        frame = image()
        wrong = {
            "type": (3, TypeError), "none": (None, TypeError), "text": ("street.jpg", FileNotFoundError),
            "dtype": (frame.astype(numpy.float32), TypeError), "two channels": (numpy.zeros((8, 8, 2), numpy.uint8), ValueError),
            "four axes": (numpy.zeros((1, 8, 8, 3), numpy.uint8), ValueError),
            "empty": (numpy.zeros((0, 8, 3), numpy.uint8), ValueError),
            "turned": (frame.transpose(2, 1, 0), ValueError), "no image": ([], ValueError),
            "second image": ([frame, 3], TypeError),
        }
        for name, (value, kind) in wrong.items():
            with self.subTest(name), self.assertRaisesRegex(kind, "^image"):
                self.model(value)
        with self.assertRaises(TypeError):
            self.model()
        self.assertEqual(self.model(frame).features.shape, (16, 3))

    def test_wrong_settings_are_exceptions_and_change_nothing(self):
        before = self.model(image()).features
        for name, value, kind in [("blocks", (99,), mpm.Error), ("blocks", (2, 1), mpm.Error),
                                  ("blocks", "two", ValueError), ("blocks", "2,", ValueError),
                                  ("blocks", (2**40,), ValueError), ("blocks", 2, TypeError),
                                  ("blocks", (1.5,), TypeError), ("precision", 32, TypeError),
                                  ("device", None, TypeError), ("precision", "f8", ValueError),
                                  ("precision", "f16", mpm.Error), ("device", "abacus", ValueError),
                                  ("device", "cuda:-1", ValueError), ("reuse", "often", mpm.Error),
                                  ("reuse", 3.5, TypeError)]:
            with self.subTest(name, value=value):
                with self.assertRaises(kind) as raised:
                    setattr(self.model, name, value)
                self.assertRegex(str(raised.exception), "^%s: " % name)
                if kind is mpm.Error:
                    self.assertIsInstance(raised.exception, ValueError)
        with self.assertRaises(AttributeError):
            self.model.presicion = "f32"
        self.assertTrue(numpy.array_equal(self.model(image()).features, before))
        with self.assertRaisesRegex(mpm.Error, "no such file"):
            mpm.Model("missing.onnx")
        with self.assertRaisesRegex(mpm.Error, "32x32"):
            mpm.Model(TINY, (64, 64))
        with self.assertRaises(ValueError):
            mpm.Model(TINY, (0, -1))
        for size in ("32x32", (32,), 32):
            with self.assertRaisesRegex(TypeError, "^size: expected .rows, columns."):
                mpm.Model(TINY, size)
        with self.assertRaisesRegex(TypeError, "^model: expected a path, got 3"):
            mpm.Model(3)
        with self.assertRaises(ValueError):
            mpm.Model(TINY + "\0.onnx")

    def test_a_result_lives_without_its_model_and_image(self):
        model, frame = mpm.Model(TINY), image()
        expected = self.model(frame)
        model.blocks = (1,)
        result = model(frame)
        features = result.features
        del model, frame
        gc.collect()
        for _ in range(20):
            self.model(image(seed=7))
        self.assertTrue(numpy.array_equal(features, expected.features))
        self.assertTrue(numpy.array_equal(result.map, expected.map))
        self.assertTrue(numpy.array_equal(result.overlay, expected.overlay))
        kept = result.map
        del result
        gc.collect()
        self.assertTrue(numpy.array_equal(kept, expected.map))

    def test_threads_share_a_model_and_run_beside_python(self):
        expected = [self.model(image(seed=seed)).features for seed in range(4)]
        wrong = []

        def work(seed):
            for _ in range(30):
                if not numpy.array_equal(self.model(image(seed=seed)).features, expected[seed]):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_interpreter_is_free_during_a_call(self):
        model = mpm.Model("default")
        frame = image(480, 640)
        model(frame)
        done = threading.Event()
        thread = threading.Thread(target=lambda: (model(frame), done.set()))
        thread.start()
        steps = 0
        while not done.wait(0.001):
            steps += 1
        thread.join()
        self.assertGreater(steps, 3)

    def test_ten_thousand_calls_do_not_grow(self):
        frame = image(32, 32)
        for _ in range(1000):
            self.model(frame).features
        before = resident()
        for call in range(10000):
            result = self.model(frame)
            result.features, result.map, result.tokens, result.times
            if call % 100 == 0:
                result.overlay
        self.assertLess(resident() - before, 5 * 2**20)


class Tiny(mpm.Model):
    """Its __init__ takes something else."""

    def __init__(self, number, **settings):
        super().__init__(TINY, **settings)
        self.number = number


class Package(FolderTest):
    def test_only_public_names_are_listed(self):
        self.assertEqual([name for name in dir(mpm) if not name.startswith("__")], sorted(mpm.__all__))

    def test_paths_may_be_objects(self):
        tiny, output = pathlib.Path(TINY), pathlib.Path(self.folder) / "out.onnx"
        self.assertEqual(mpm.Model(tiny).path, TINY)
        self.assertEqual(mpm.convert(tiny, output, blocks="0,1").blocks, (0, 1))
        self.assertEqual(mpm.info(output).blocks, (0, 1))
        mpm.bench(output, [image()], rounds=1, warm_up=0)
        with self.assertRaises(mpm.Error):
            mpm.join([pathlib.Path(self.folder) / "missing.counts"])

    def test_a_subclass_stays_one(self):
        model = Tiny(3, blocks=(1,))
        for copied in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
            self.assertEqual((type(copied), copied.number, copied.blocks), (Tiny, 3, (1,)))
            self.assertEqual(copied(image()).tokens, model(image()).tokens)

    def test_unreadable_images_of_a_folder_are_skipped(self):
        for name in ("a.png", "c.png"):
            cv2.imwrite(os.path.join(self.folder, name), image())
        pathlib.Path(self.folder, "b.png").write_bytes(b"no image")
        with self.assertLogs("mpm") as log:
            names = [os.path.basename(result.path) for result in mpm.Model(TINY).stream(self.folder)]
        self.assertEqual(names, ["a", "c"])
        self.assertIn("b.png", log.output[0])
        os.remove(os.path.join(self.folder, "a.png"))
        os.remove(os.path.join(self.folder, "c.png"))
        with self.assertRaisesRegex(mpm.Error, "b.png"):
            list(mpm.Model(TINY).stream(self.folder))

    def test_unfinished_objects_are_errors(self):
        for kind, use in [(mpm.Model, lambda m: m.blocks), (mpm.Model, repr), (mpm.Model, lambda m: m(image())),
                          (mpm.Model, lambda m: m.path), (mpm.Result, lambda r: r.labels), (mpm.Times, repr),
                          (mpm.Merged, lambda m: m.map), (mpm.Conversion, str), (mpm.ModelInfo, lambda i: i.labels),
                          (mpm.operators.Operator, lambda o: o.run([]))]:
            with self.subTest(kind), self.assertRaisesRegex(TypeError, "not initialised"):
                use(kind.__new__(kind))


class Tokens(unittest.TestCase):
    def setUp(self):
        self.tokens = numpy.random.default_rng(3).standard_normal((1 + 40, 8)).astype(numpy.float32)

    def test_restore_is_the_inverse_of_merge(self):
        merged = mpm.merge(self.tokens, special=1)
        self.assertEqual(merged.tokens.shape[0], 1 + merged.map.max() + 1)
        full = mpm.restore(merged.tokens, merged.map, special=1)
        self.assertTrue(numpy.array_equal(full[0], self.tokens[0]))
        self.assertTrue(numpy.array_equal(full[1:], merged.tokens[1 + merged.map]))
        means = [self.tokens[1:][merged.map == i].mean(axis=0) for i in range(merged.map.max() + 1)]
        self.assertTrue(numpy.allclose(merged.tokens[1:], means, atol=1e-6))
        again = mpm.merge(merged.tokens, special=1)
        self.assertTrue(numpy.array_equal(mpm.compose(merged.map, again.map), again.map[merged.map]))

    def test_wrong_input_is_an_exception(self):
        merged = mpm.merge(self.tokens)
        for call, kind in [
            (lambda: mpm.merge(self.tokens.astype(numpy.float64)), TypeError),
            (lambda: mpm.merge(self.tokens[0]), ValueError),
            (lambda: mpm.merge(self.tokens, special=99), mpm.Error),
            (lambda: mpm.merge(self.tokens, special=-1), mpm.Error),
            (lambda: mpm.merge(self.tokens, special=2**32), mpm.Error),
            (lambda: mpm.merge(self.tokens, special=1.5), TypeError),
            (lambda: mpm.restore(merged.tokens, merged.map, special=3 - 2**32), mpm.Error),
            (lambda: mpm.merge(numpy.zeros((4, 0), numpy.float32)), ValueError),
            (lambda: mpm.restore(merged.tokens, merged.map.astype(numpy.int64)), TypeError),
            (lambda: mpm.restore(merged.tokens, merged.map + 99), mpm.Error),
            (lambda: mpm.restore(merged.tokens, -merged.map), mpm.Error),
            (lambda: mpm.compose(merged.map, merged.map), mpm.Error),
        ]:
            with self.assertRaises(kind):
                call()

    def test_results_outlive_what_they_come_from(self):
        tokens = mpm.merge(self.tokens).tokens
        expected = tokens.copy()
        for seed in range(50):
            mpm.merge(numpy.full((41, 8), seed, numpy.float32))
        self.assertTrue(numpy.array_equal(tokens, expected))


if __name__ == "__main__":
    unittest.main()
