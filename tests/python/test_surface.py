"""What people expect of a model in Python: images of all kinds, streams, plots, pickling."""

import json
import os
import pathlib
import pickle
import unittest

import mpm
import numpy

from support import TINY, FolderTest, image, in_new_process


def features(result):
    return result.features


class Images(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.model = mpm.Model(TINY)
        cls.frame = image()
        cls.expected = cls.model(cls.frame).features

    def same(self, result):
        self.assertTrue(numpy.array_equal(result.features, self.expected))

    def file(self, name="street.png"):
        path = os.path.join(self.folder, name)
        mpm.images.write(path, self.frame)
        return path

    def test_files_folders_and_patterns(self):
        path = self.file()
        self.same(self.model(path))
        self.same(self.model(pathlib.Path(path)))
        self.assertEqual(self.model(path).path, path)
        self.file("yard.png")
        for several in (self.folder, pathlib.Path(self.folder), os.path.join(self.folder, "*.png"), [path, self.frame]):
            results = self.model(several)
            self.assertEqual(len(results), 2)
            for result in results:
                self.same(result)

    def test_a_missing_file_is_called_missing(self):
        for value in ("missing.jpg", pathlib.Path("missing.jpg"), "missing/*.jpg", self.folder):
            with self.assertRaisesRegex(FileNotFoundError, "^image: "):
                self.model(value)
        with self.assertRaisesRegex(TypeError, "None, as cv2.imread"):
            self.model(None)
        with self.assertRaisesRegex(mpm.Error, "test_surface.py"):
            self.model(__file__)

    def test_channels(self):
        frame = self.frame
        self.same(self.model(numpy.dstack([frame, frame[:, :, 0]])))
        self.same(self.model(frame[..., ::-1], color="rgb"))
        grey = frame[:, :, 0]
        expected = self.model(numpy.dstack([grey, grey, grey])).features
        for value in (grey, grey[:, :, None], grey.copy()):
            self.assertTrue(numpy.array_equal(self.model(value).features, expected))
        with self.assertRaisesRegex(ValueError, "^color: "):
            self.model(frame, color="hsv")

    def test_foreign_arrays(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __array__(self, dtype=None, copy=None):
                return self.array

        self.same(self.model(Foreign(self.frame), color="bgr"))
        self.same(self.model(Foreign(self.frame[..., ::-1].transpose(2, 0, 1)), color="rgb"))
        with self.assertRaisesRegex(ValueError, "^image: say color="):
            self.model(Foreign(self.frame))
        with self.assertRaisesRegex(TypeError, "multiplied by 255"):
            self.model(Foreign(self.frame / 255), color="rgb")

    def test_pil_and_torch(self):
        try:
            from PIL import Image
        except ImportError:
            Image = None
        if Image:
            pillow = Image.fromarray(self.frame[..., ::-1].copy())
            self.same(self.model(pillow))
            self.same(self.model(pillow.convert("RGBA")))
            self.assertEqual(self.model(pillow.convert("L")).features.shape, self.expected.shape)
        printed, _ = in_new_process("""
try:
    import torch
except ImportError:
    print("same")
else:
    import sys
    sys.path.insert(0, %r)
    import mpm, numpy
    from support import TINY, image
    model = mpm.Model(TINY)
    tensor = torch.from_numpy(image()[..., ::-1].copy()).permute(2, 0, 1)
    for given in (tensor, tensor.contiguous(), tensor.permute(1, 2, 0)):
        assert numpy.array_equal(model(given, color="rgb").features, model(image()).features)
    print("same")
""" % os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(printed.split()[-1], "same")


class Videos(FolderTest):
    """The videos that pip's package takes from cv2, called as its library calls them."""

    def test_frames_of_a_clip(self):
        import cv2
        from mpm import _library, videos

        path = os.path.join(self.folder, "clip.avi")
        writer = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 10, (64, 48))
        for seed in range(3):
            writer.write(image(seed=seed))
        writer.release()
        expected = cv2.VideoCapture(path, cv2.CAP_OPENCV_MJPEG).read()[1]
        held = videos._Videos()
        number = held.open(path.encode(), cv2.CAP_OPENCV_MJPEG, None, 0)
        self.assertEqual(held.get(number, cv2.CAP_PROP_FRAME_WIDTH), 64)
        frame = (_library.Array * 1)()
        self.assertEqual(held.read(number, frame), 1)
        self.assertTrue(numpy.array_equal(_library.array_over(frame[0], held), expected))
        self.assertEqual([held.read(number, frame) for _ in range(3)], [1, 1, 0])
        held.release(number)
        self.assertEqual((held.captures, held.frames), ({}, {}))
        self.assertEqual(held.open(b"missing.avi", cv2.CAP_OPENCV_MJPEG, None, 0), 0)
        self.assertEqual(videos._quiet(held.get)(number, 3), 0)

    def test_the_command_belongs_to_pips_package(self):
        done = in_new_process("""
import sys
from mpm import command
try:
    command.main()
except SystemExit as end:
    print(end.code)
""")
        self.assertIn("in the package mpm", done[0])


class Results(FolderTest):
    def setUp(self):
        super().setUp()
        self.frame = image(480, 640)
        self.result = mpm.Model("default")(self.frame)

    def test_plot_save_and_json(self):
        result = self.result
        self.assertTrue(numpy.array_equal(result.plot(), result.overlay))
        path = result.save(os.path.join(self.folder, "overlay.png"))
        self.assertTrue(numpy.array_equal(mpm.images.read(path), result.overlay))
        self.assertIsNone(result.names)
        self.assertEqual(set(result.speed), {"prepare", "network", "labels"})
        read = json.loads(result.to_json())
        self.assertEqual(read["size"], [480, 640])
        self.assertAlmostEqual(sum(part["share"] for part in read["classes"]), 1, places=3)
        self.assertTrue(numpy.array_equal(numpy.asarray(result), result.labels))
        self.assertEqual(numpy.asarray(result, dtype=numpy.int64).dtype, numpy.int64)
        self.assertIn("tokens", repr(result))

    def test_without_classes(self):
        result = mpm.Model(TINY)(image())
        self.assertIsNone(result.boxes)
        self.assertIsNone(result.masks)
        with self.assertRaisesRegex(TypeError, "no labels"):
            numpy.asarray(result)
        self.assertEqual(json.loads(result.to_json())["classes"], [])


class Models(FolderTest):
    def test_settings_in_the_constructor(self):
        model = mpm.Model(TINY, blocks=(1,), method="tome:r=3", precision="auto", device="cpu", reuse=True, threads=2)
        self.assertEqual((model.blocks, model.precision, model.device, model.reuse), ((1,), "auto", "cpu", True))
        self.assertEqual((model.method, pickle.loads(pickle.dumps(model)).method), ("tome:r=3", "tome:r=3"))
        self.assertIn("blocks 1, method tome:r=3, auto", repr(model))
        with self.assertRaisesRegex(ValueError, "^threads: "):
            mpm.Model(TINY, threads=-1)

    def test_the_method_is_a_setting(self):
        model = mpm.Model(TINY, blocks=(1,))
        self.assertEqual(model.method, "mpm")
        model.method = "tome:r=3"
        self.assertEqual(model(image()).tokens, [16, 13, 10])  # ToMe merges before each block
        model.method = "none"
        self.assertEqual(model(image()).tokens, [16, 16, 16])
        for value, kind in (("best", ValueError), ("tome:r=-1", ValueError), (3, TypeError)):
            with self.assertRaisesRegex(kind, "^method: "):
                model.method = value
        self.assertEqual((model.method, model.blocks), ("none", (1,)))

    def test_bytes(self):
        with open(TINY, "rb") as file:
            content = file.read()
        model = mpm.Model(content)
        self.assertTrue(numpy.array_equal(model(image()).features, mpm.Model(TINY)(image()).features))
        copied = pickle.loads(pickle.dumps(model))
        self.assertTrue(numpy.array_equal(model(image()).features, copied(image()).features))
        with self.assertRaises(mpm.Error):
            mpm.Model(b"nothing")

    def test_pickling_keeps_path_and_settings(self):
        model = mpm.Model(TINY, blocks=(0, 2), precision="auto")
        copied = pickle.loads(pickle.dumps(model))
        self.assertEqual(repr(copied), repr(model))
        self.assertTrue(numpy.array_equal(model(image()).features, copied(image()).features))

    def test_a_copy_has_the_settings_that_were_chosen_and_no_others(self):
        paper = mpm.Model(TINY, blocks=())
        copied = pickle.loads(pickle.dumps(paper))
        copied.method = paper.method = "tome:r=3"
        self.assertEqual(copied._chosen, paper._chosen)
        code = ("import mpm, numpy, pickle; m = mpm.Model(%r); c = pickle.loads(pickle.dumps(m)); "
                "i = numpy.zeros((64, 64, 3), numpy.uint8); print(m(i).precision, c(i).precision)" % TINY)
        self.assertEqual(in_new_process(code, MPM_PRECISION="i8")[0].split(), ["i8", "i8"])

    def test_a_misspelt_variable_is_an_error(self):
        code = "import mpm\ntry: mpm.Model(%r).classes\nexcept mpm.Error as error: print(error)" % TINY
        for variable in ("MPM_BLOCKS", "MPM_METHOD"):
            self.assertIn(variable, in_new_process(code, **{variable: "best"})[0])

    def test_with_closes(self):
        with mpm.Model(TINY) as model:
            model(image())
        with self.assertRaisesRegex(mpm.Error, "closed"):
            model(image())
        with self.assertRaisesRegex(mpm.Error, "closed"):
            model.blocks
        self.assertIn("closed", repr(model))

    def test_embed_and_info(self):
        model = mpm.Model(TINY)
        vector = model.embed(image())
        self.assertEqual((vector.shape, vector.dtype), ((3,), numpy.float32))
        self.assertTrue(numpy.allclose(vector, model(image()).features.mean(axis=0), atol=1e-6))
        self.assertEqual(model.embed([image(), image()]).shape, (2, 3))
        self.assertEqual(model.info().size, model.size)

    def test_streams(self):
        model = mpm.Model(TINY)
        names = []
        for result in model.stream("demo"):
            names.append(result)
            if len(names) == 3:
                break
        self.assertEqual([result.features.shape for result in names], [(16, 3)] * 3)
        for name in ("b.png", "a.png"):
            mpm.images.write(os.path.join(self.folder, name), image())
        results = list(model.stream(self.folder))
        self.assertEqual([result.path for result in results], ["a", "b"])
        for source in ("missing.mp4", 99):
            with self.assertRaisesRegex(mpm.Error, str(source)):
                list(model.stream(source))
        with self.assertRaisesRegex(TypeError, "^source: "):
            model.stream(1.5)

    def test_control_c_ends_a_wait_for_a_source(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        source = "gst:filesrc location=%s ! appsink" % pipe
        for use in ("next(mpm.Model(%r).stream(%r))", "mpm.tune(%r, %r)"):
            with self.subTest(use):
                program = """if True:
                    import mpm, os, signal, threading
                    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
                    try:
                        %s
                    except KeyboardInterrupt:
                        raise SystemExit
                    raise SystemExit("no interrupt")
                    """ % (use % (TINY, source))
                try:
                    in_new_process(program)
                except AssertionError as error:
                    if "cannot find appsink" in str(error):
                        self.skipTest("GStreamer has no appsink here")
                    raise

    def test_reuse_in_a_stream(self):
        model = mpm.Model(TINY, reuse=True)
        for k in range(3):
            mpm.images.write(os.path.join(self.folder, "%d.png" % k), image())
        shares = [result.recomputed for result in model.stream(self.folder, stream="yard")]
        self.assertEqual(shares[0], 1)
        self.assertLess(shares[2], 0.5)


if __name__ == "__main__":
    unittest.main()
