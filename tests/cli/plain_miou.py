"""mIoU of saved labels, by nothing of ours: plain_miou.py TRUTH_DIR FOUND_DIR CLASSES IGNORED"""
import pathlib
import sys

import cv2
import numpy

truth_dir, found_dir = map(pathlib.Path, sys.argv[1:3])
classes, ignored = map(int, sys.argv[3:5])
both, truth_area, found_area = (numpy.zeros(classes) for _ in range(3))
for path in sorted(found_dir.glob("*.png")):
    found = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    truth = cv2.imread(str(truth_dir / path.name), cv2.IMREAD_UNCHANGED)
    assert found.shape == truth.shape, path
    found, truth = found[truth != ignored], truth[truth != ignored]
    both += numpy.bincount(truth[truth == found], minlength=classes)
    truth_area += numpy.bincount(truth, minlength=classes)
    found_area += numpy.bincount(found, minlength=classes)
either = truth_area + found_area - both
print((both[either > 0] / either[either > 0]).mean())
