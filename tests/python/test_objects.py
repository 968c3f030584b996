"""Boxes of a detector and tracks in Python."""

import json
import os
import pickle
import sys
import tempfile
import threading
import types
import unittest

import mpm
import numpy

from support import TINY, image

FOLDER = os.environ["MPM_DETECTORS"]
DETECTOR = os.path.join(FOLDER, "detector.onnx")  # two boxes side by side, of the classes left and right
MASKS = os.path.join(FOLDER, "masks.onnx")  # the same, with masks of the left quarter of the image


class Objects(unittest.TestCase):
    def test_boxes_are_in_pixels_of_the_image(self):
        result = mpm.Model(DETECTOR)(image(48, 64))
        self.assertEqual(result.boxes.dtype, numpy.float32)
        numpy.testing.assert_allclose(result.boxes, [[8, 12, 24, 36], [40, 12, 56, 36]], atol=1e-3)
        numpy.testing.assert_allclose(result.scores, [1 / (1 + numpy.exp(-3)), 1 / (1 + numpy.exp(-2))], atol=1e-5)
        self.assertEqual(result.labels.tolist(), [0, 1])
        self.assertEqual(result.names, ["left", "right"])
        self.assertIsNone(result.masks)
        self.assertEqual((result.labels.dtype, result.scores.dtype), (numpy.int32, numpy.float32))
        self.assertEqual(result.classes, ["left", "right"])
        self.assertIn("2 objects", repr(result))
        self.assertTrue(numpy.array_equal(result.plot(), result.overlay))
        self.assertFalse(numpy.array_equal(result.overlay, image(48, 64)))

    def test_the_threshold_is_a_setting(self):
        model = mpm.Model(DETECTOR)
        self.assertEqual(model.threshold, 0.5)
        model.threshold = 0.9
        self.assertEqual(model(image()).names, ["left"])
        model.threshold = 0.99
        result = model(image())
        self.assertEqual((result.boxes.shape, result.scores.shape, result.labels.shape), ((0, 4), (0,), (0,)))
        self.assertEqual(result.names, [])
        self.assertIn("0 objects", repr(result))
        for name in ("threshold", "nms"):
            for wrong in (-0.1, 1.1, float("nan"), float("inf")):
                with self.assertRaisesRegex(ValueError, "^%s: expected 0 to 1" % name):
                    setattr(model, name, wrong)
            for wrong in ("0.5", None, True):
                with self.assertRaisesRegex(TypeError, "^%s: " % name):
                    setattr(model, name, wrong)
        self.assertEqual((model.threshold, model.nms), (0.99, 1))

    def test_nms_leaves_out_doubles(self):
        model = mpm.Model(DETECTOR, threshold=numpy.float64(0.3))
        self.assertEqual(model(image()).names, ["left", "right", "left"])
        model.nms = 0.5
        self.assertEqual(model(image()).names, ["left", "right"])
        copied = pickle.loads(pickle.dumps(model))
        self.assertEqual((copied.threshold, copied.nms), (0.3, 0.5))
        result = model(image())
        labels = numpy.array(result)
        labels += 1
        self.assertFalse((numpy.asarray(result) == labels).any())  # `labels` is a copy, with NumPy 2, too

    def test_labels_are_copied_only_if_they_may_be(self):
        result = mpm.Model(DETECTOR)(image(48, 64))
        self.assertEqual(result.__array__(numpy.int64).tolist(), [0, 1])
        self.assertTrue(numpy.shares_memory(result.__array__(numpy.int32, copy=False), result.labels))
        with self.assertRaisesRegex(ValueError, "^copy: the labels are int32"):
            result.__array__(numpy.int64, copy=False)

    def test_each_image_of_a_list_has_boxes_in_its_pixels(self):
        for result in mpm.Model(DETECTOR)([image(48, 64), image(96, 128)]):
            rows, columns = result.overlay.shape[:2]
            self.assertEqual(result.boxes[1].tolist(), [columns * 5 / 8, rows / 4, columns * 7 / 8, rows * 3 / 4])

    def test_masks_have_the_size_of_their_boxes(self):
        result = mpm.Model(MASKS, threshold=0.3)(image(48, 64))
        self.assertEqual([(mask.dtype, mask.shape) for mask in result.masks], [(numpy.uint8, (24, 16))] * 3)
        self.assertTrue((result.masks[0] == (numpy.arange(16) < 8)).all())
        self.assertFalse(result.masks[1].any())
        result.masks[0][:] = 0
        self.assertTrue(result.masks[2].any())

    def test_json_is_that_of_the_command(self):
        read = json.loads(mpm.Model(DETECTOR)(image(48, 64)).to_json())
        self.assertEqual(read["classes"], [])
        self.assertEqual([(box["xyxy"], box["label"], box["name"]) for box in read["boxes"]],
                         [([8, 12, 24, 36], 0, "left"), ([40, 12, 56, 36], 1, "right")])
        self.assertAlmostEqual(read["boxes"][0]["score"], 0.9526, places=3)
        self.assertNotIn("boxes", json.loads(mpm.Model(TINY)(image()).to_json()))

    def test_detections_of_supervision(self):
        stand_in = types.ModuleType("supervision")
        stand_in.Detections = lambda **given: given
        held = sys.modules.get("supervision")
        sys.modules["supervision"] = stand_in
        try:
            plain, masked = (mpm.Model(path)(image(48, 64)) for path in (DETECTOR, MASKS))
            given = plain.to_supervision()
            whole = masked.to_supervision()["mask"]
        finally:
            sys.modules.pop("supervision")
            if held:
                sys.modules["supervision"] = held
        self.assertIsNone(given["mask"])
        for name, value in (("xyxy", plain.boxes), ("confidence", plain.scores), ("class_id", plain.labels)):
            self.assertTrue(numpy.array_equal(given[name], value))
        self.assertEqual(given["data"]["class_name"].tolist(), ["left", "right"])
        self.assertEqual((whole.dtype, whole.shape), (bool, (2, 48, 64)))
        self.assertEqual((whole[0].sum(), whole[0, 12:36, 8:16].all()), (24 * 8, True))

    def test_a_detector_has_no_features_to_embed(self):
        with self.assertRaisesRegex(mpm.Error, "boxes, not features"):
            mpm.Model(DETECTOR).embed(image())

    def test_tracks_of_a_stream(self):
        model = mpm.Model(DETECTOR)
        self.assertIsNone(model(image(48, 64)).tracks)
        for frame in range(5):
            result = model(image(48, 64), stream="yard", seconds=10 + frame)
        self.assertEqual([track.id for track in result.tracks], [1, 2])
        left = result.tracks[0]
        self.assertIsInstance(left, mpm.Track)
        numpy.testing.assert_allclose(left.box, [8, 12, 24, 36], atol=1e-3)
        self.assertAlmostEqual(left.score, 0.9526, places=3)
        self.assertEqual((left.label, left.name, left.state, left.seen), (0, "left", "stays", True))
        self.assertEqual((left.since, left.dwell), (10, 4))
        numpy.testing.assert_allclose(left.path, [(16, 24)], atol=1e-3)
        self.assertEqual([one["id"] for one in json.loads(result.to_json())["tracks"]], [1, 2])
        self.assertFalse(numpy.array_equal(result.overlay, model(image(48, 64)).overlay))  # shows identities

    def test_each_stream_has_its_tracks(self):
        model = mpm.Model(DETECTOR)
        model(image(48, 64), stream="yard", seconds=0)
        results = model([image(48, 64), image(96, 128)], stream=["yard", 7], seconds=1)
        self.assertEqual([[track.dwell for track in result.tracks] for result in results], [[1, 1], [0, 0]])
        self.assertEqual(results[1].tracks[0].box[0], 16)
        model.forget("yard")
        results = model([image(48, 64), image(96, 128)], stream=["yard", 7], seconds=2)
        self.assertEqual([[track.dwell for track in result.tracks] for result in results], [[0, 0], [1, 1]])
        model.threshold = 0.9  # also changes the rules of tracks
        self.assertEqual([track.name for track in model(image(48, 64), stream=7).tracks], ["left"])
        for wrong in ("1", True, float("nan"), [1]):
            with self.assertRaisesRegex(TypeError, "^seconds: "):
                model(image(), stream="yard", seconds=wrong)
        for stream in range(200):  # the oldest streams are forgotten
            model(image(), stream=stream, seconds=stream)
        self.assertEqual(model(image(), stream=0, seconds=300).tracks[0].dwell, 0)
        self.assertEqual(model(image(), stream=199, seconds=300).tracks[0].dwell, 101)

    def test_tracks_of_a_source(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(4):
                mpm.images.write(os.path.join(folder, "%d.png" % number), image())
            model = mpm.Model(DETECTOR)
            for stream in (None, "yard"):
                for _ in range(2):  # each pass begins with new tracks
                    tracks = [result.tracks for result in model.stream(folder, stream)]
                    self.assertEqual([[track.id for track in frame] for frame in tracks], [[1, 2]] * 4)
                    self.assertEqual([track.dwell > 0 for frame in tracks for track in frame][:4], [False, False, True, True])

    def test_a_running_source_obeys(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(4):
                mpm.images.write(os.path.join(folder, "%d.png" % number), image())
            for stream in (None, "yard"):
                model, seen = mpm.Model(DETECTOR), []
                for number, result in enumerate(model.stream(folder, stream)):
                    seen.append([(track.name, track.dwell > 0) for track in result.tracks])
                    if number == 1:
                        model.forget(stream)
                    if number == 2:
                        model.threshold = 0.9
                new, old = [("left", False), ("right", False)], [("left", True), ("right", True)]
                self.assertEqual(seen, [new, old, new, new[:1]], stream)

    def test_classes_that_are_objects(self):
        model = mpm.Model(DETECTOR, objects=["right"])
        self.assertEqual([track.name for track in model(image(), stream=1).tracks], ["right"])
        self.assertEqual(model(image()).names, ["left", "right"])
        self.assertEqual(pickle.loads(pickle.dumps(model)).objects, ["right"])
        model.objects = ()
        self.assertEqual(len(model(image(), stream=1).tracks), 2)
        with self.assertRaisesRegex(ValueError, "^objects: .*unicorn"):
            model.objects = ["unicorn"]
        for wrong in ("left", 3, [3], None):
            with self.assertRaisesRegex(TypeError, "^objects: "):
                model.objects = wrong

    def test_regions_of_a_segmentation_have_tracks(self):
        model = mpm.Model("default")
        self.assertIsNone(model(image(480, 640), stream="yard").tracks)
        model.objects = model.classes  # every region of the image is an object
        tracks = model(image(480, 640), stream="yard").tracks
        again = model(image(480, 640), stream="yard").tracks
        self.assertGreater(len(tracks), 0)
        self.assertEqual([(track.id, track.name) for track in tracks], [(track.id, track.name) for track in again])
        self.assertIsNone(mpm.Model(TINY)(image(), stream="yard").tracks)

    def test_threads_share_a_stream(self):
        model = mpm.Model(DETECTOR)
        threads = [threading.Thread(target=lambda: [model(image(), stream="yard") for _ in range(20)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([track.id for track in model(image(), stream="yard").tracks], [1, 2])

    def test_other_models_have_none(self):
        for path in (TINY, "default"):
            result = mpm.Model(path)(image())
            for value in (result.boxes, result.scores, result.names, result.masks):
                self.assertIsNone(value)


if __name__ == "__main__":
    unittest.main()
