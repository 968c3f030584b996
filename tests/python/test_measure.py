"""mpm.bench, mpm.evaluate, mpm.tune, mpm.join and mpm.convert give what the verbs give."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import types
import unittest
from unittest import mock

import cv2
import mpm
import numpy

from support import SOURCE, TINY, TOOL, FolderTest, image


def write_dataset(root, images):
    """A folder data set of the shipped model's classes."""
    classes = [{"name": name, "color": [i, 2 * i, 3 * i]} for i, name in enumerate(mpm.Model("default").classes)]
    for part in ("images", "labels"):
        os.makedirs(os.path.join(root, "val", part))
    for i in range(images):
        cv2.imwrite(os.path.join(root, "val/images/%d.png" % i), image(96, 128, i))
        labels = numpy.random.default_rng(i).integers(0, len(classes), (96, 128), dtype=numpy.uint8)
        cv2.imwrite(os.path.join(root, "val/labels/%d.png" % i), labels)
    with open(os.path.join(root, "classes.json"), "w") as file:
        json.dump(classes, file)


class Bench(FolderTest):
    def test_report_has_the_keys_of_the_verb(self):
        done = []
        report = mpm.bench(TINY, [image()], compare="none,mpm:1", batch=[1], rounds=3, warm_up=1,
                           progress=lambda at, of: done.append((at, of)))
        path = os.path.join(self.folder, "bench.json")
        cv2.imwrite(os.path.join(self.folder, "image.png"), image())
        subprocess.run([TOOL, "bench", TINY, os.path.join(self.folder, "image.png"), "--compare", "none,mpm:1", "--rounds",
                        "1", "--json", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path) as file:
            expected = json.load(file)
        self.assertEqual(list(report), list(expected))
        self.assertEqual([list(row) for row in report["results"]], [list(row) for row in expected["results"]])
        for mine, theirs in zip(report["results"], expected["results"]):
            for key in ("method", "schedule", "tokens", "gflops", "batch"):
                self.assertEqual(mine[key], theirs[key], key)
        self.assertEqual(done[-1][0], done[-1][1])
        for row in report["results"] + expected["results"]:
            self.assertAlmostEqual(row["images_per_second"] * sum(row["ms_per_round"]) / row["rounds"], 1000, places=6)
            self.assertAlmostEqual(row["images_per_second"] * row["mean_ms"], 1000, places=6)

    def test_wrong_use_is_an_exception(self):
        for arguments, kind in [({"rounds": 0}, ValueError), ({"batch": []}, ValueError), ({"batch": [0]}, ValueError),
                                ({"compare": "magic"}, mpm.Error), ({"precision": "f8"}, ValueError),
                                ({"model": "missing.onnx"}, mpm.Error), ({"images": [3]}, TypeError),
                                ({"images": []}, ValueError)]:
            with self.subTest(arguments), self.assertRaises(kind):
                mpm.bench(**{"model": TINY, "images": [image()], **arguments})

    def test_an_exception_of_the_callback_ends_it(self):
        def stop(done, total):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            mpm.bench(TINY, [image()], rounds=3, progress=stop)

    def test_a_bar_of_tqdm_shows_the_rounds(self):
        class Bar:
            def __init__(self, **how):
                self.how, self.n, self.closed = how, 0, False
                bars.append(self)

            def update(self, more):
                self.n += more

            def close(self):
                self.closed = True

        bars, stand_in = [], types.ModuleType("tqdm")
        stand_in.tqdm = Bar
        with mock.patch.dict(sys.modules, tqdm=stand_in):
            mpm.bench(TINY, [image()], rounds=3, warm_up=1)
            mpm.bench(TINY, [image()], rounds=3, warm_up=1, progress=lambda done, total: None)
        bar, = bars  # the call with `progress` makes no bar
        self.assertEqual((bar.how["disable"], bar.n, bar.closed), (None, bar.total, True))
        with mock.patch.dict(sys.modules, tqdm=None):
            mpm.bench(TINY, [image()], rounds=1, warm_up=0)

    def test_control_c_ends_it(self):
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            mpm.bench(TINY, [image()], rounds=10**7)

    def test_a_second_control_c_waits_for_the_library(self):
        join, joined = threading.Thread.join, []

        def interrupted(thread):
            joined.append(thread)
            if len(joined) == 1:
                raise KeyboardInterrupt
            join(thread)

        def end(done, total):
            raise KeyboardInterrupt

        with mock.patch.object(threading.Thread, "join", interrupted), self.assertRaises(KeyboardInterrupt):
            mpm.bench(TINY, [image()], rounds=10**7, progress=end)
        self.assertFalse(joined[0].is_alive())


class Tune(FolderTest):
    def test_a_choice_is_written_and_has_the_keys_of_the_verb(self):
        frames = [image(seed=k) for k in range(9)]
        for k, frame in enumerate(frames):
            cv2.imwrite(os.path.join(self.folder, "%d.png" % k), frame)
        model, path = os.path.join(self.folder, "model.onnx"), os.path.join(self.folder, "tune.json")
        shutil.copy(TINY, model)
        report = mpm.tune(model, frames, keep=1e-6, write=True)
        subprocess.run([TOOL, "tune", TINY, self.folder, "--json", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path) as file:
            expected = json.load(file)
        self.assertEqual(list(report), list(expected))
        self.assertEqual(list(report["results"][0]), list(expected["results"][0]))
        self.assertEqual((report["goal"], report["images"]), ({"keep": 1e-6, "faster": None}, 9))
        chosen = [row for row in report["results"] if row["chosen"]]
        self.assertEqual(report["reached"], bool(chosen))
        if chosen:  # on some machines, no method makes so small a model faster
            self.assertEqual(mpm.info(model).blocks, tuple(chosen[0]["schedule"]))
        self.assertEqual(mpm.tune(TINY, self.folder, faster=1)["images"], 9)

    def test_wrong_use_is_an_exception(self):
        frames = [image()] * 3
        for arguments, kind in [({"keep": 0}, ValueError), ({"keep": 1.5}, ValueError), ({"faster": 0.5}, ValueError),
                                ({"keep": 0.9, "faster": 2}, ValueError), ({"minutes": 0}, ValueError), ({}, mpm.Error),
                                ({"images": "missing.mp4"}, mpm.Error), ({"images": [3]}, TypeError)]:
            with self.subTest(arguments), self.assertRaises(kind):
                mpm.tune(**{"model": TINY, "images": frames, **arguments})


class Evaluate(FolderTest):
    def test_shards_joined_equal_the_whole_and_the_verb(self):
        root = os.path.join(self.folder, "set")
        write_dataset(root, 2)
        report = mpm.evaluate("default", "folder", root, compare="mpm:5")
        path = os.path.join(self.folder, "eval.json")
        subprocess.run([TOOL, "eval", "default", "--dataset", "folder", "--root", root, "--compare", "mpm:5", "--json", path],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path) as file:
            expected = json.load(file)
        self.assertEqual(list(report), list(expected))
        for key in ("miou", "macc", "aacc", "iou", "tokens", "images", "gflops"):
            self.assertEqual(report["results"][0][key], expected["results"][0][key], key)
        for row in report["results"] + expected["results"]:
            self.assertAlmostEqual(row["images_per_second"] * row["mean_ms"], 1000, places=6)

    def test_wrong_use_is_an_exception(self):
        for arguments, kind in [({"dataset": "moon"}, mpm.Error), ({"root": "missing"}, mpm.Error),
                                ({"limit": -1}, ValueError), ({"shard": (3, 2)}, ValueError)]:
            with self.subTest(arguments), self.assertRaises(kind):
                mpm.evaluate(**{"model": "default", "dataset": "folder", "root": self.folder, **arguments})
        with self.assertRaises(mpm.Error):
            mpm.join([os.path.join(self.folder, "missing.counts")])


class Convert(FolderTest):
    def test_a_converted_model_converts_again_with_another_schedule(self):
        output = os.path.join(self.folder, "out.onnx")
        conversion = mpm.convert(SOURCE + "/models/zoo/street-vit-tiny.onnx", output, blocks=(4,))
        self.assertEqual(conversion.blocks, (4,))
        self.assertEqual(mpm.info(output).blocks, (4,))
        self.assertEqual(mpm.info(output).labels, mpm.Model("default").classes)
        self.assertIn("blocks", str(conversion))

    def test_wrong_use_is_an_exception(self):
        output = os.path.join(self.folder, "out.onnx")
        for arguments, kind in [({"input": "missing.onnx"}, mpm.Error), ({"input": __file__}, mpm.Error),
                                ({"form": "round"}, ValueError), ({"head": "tail"}, ValueError),
                                ({"blocks": (99,)}, mpm.Error), ({"size": (1, 2, 3)}, TypeError)]:
            with self.subTest(arguments), self.assertRaises(kind):
                mpm.convert(**{"input": TINY, "output": output, **arguments})
        self.assertFalse(os.path.exists(output))
        with self.assertRaises(mpm.Error):
            mpm.info("missing.onnx")


if __name__ == "__main__":
    unittest.main()
