"""detect.py MODEL SOURCE OUT: finds objects, writes a line of JSON for each frame and an overlay if there are objects.

    mpm convert rfdetr.onnx rfdetr.mpm.onnx --labels coco.json      once: the export of a detector
    detect.py rfdetr.mpm.onnx street.jpg out
    detect.py rfdetr.mpm.onnx rtsp://camera/stream out --threshold 0.4 --only person,car
"""
import argparse
import collections
import json
import pathlib

import mpm

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model", help="a detector of `mpm convert`")
parser.add_argument("source", help="an image, a folder, a video, a camera's number, an address, or demo")
parser.add_argument("out", type=pathlib.Path, help="a folder")
parser.add_argument("--threshold", type=float, default=0.5, help="the smallest score")
parser.add_argument("--nms", type=float, default=1.0, help="of boxes that overlap by more, keep the best; 1: keep all")
parser.add_argument("--only", default="", help="classes, with commas between; default: all")
parser.add_argument("--frames", type=int, default=0, help="end after so many; 0: never")
options = parser.parse_args()

model = mpm.Model(options.model, threshold=options.threshold, nms=options.nms, precision="auto")
wanted = set(filter(None, options.only.split(",")))
options.out.mkdir(parents=True, exist_ok=True)
source = int(options.source) if options.source.isdigit() else options.source

total = collections.Counter()
with open(options.out / "objects.jsonl", "w") as file:
    for number, result in enumerate(model.stream(source), 1):
        if result.boxes is None:
            parser.exit(1, f"detect.py: {options.model} is not a detector\n")
        objects = [{"class": name, "score": round(float(score), 4), "box": [round(float(side), 1) for side in box]}
                   for name, score, box in zip(result.names, result.scores, result.boxes)
                   if not wanted or name in wanted]
        file.write(json.dumps({"frame": number, "name": result.path, "objects": objects}) + "\n")
        total.update(each["class"] for each in objects)
        if objects:
            result.save(options.out / f"{number:06d}.overlay.png")
        if number == options.frames:
            break
for name, count in total.most_common():
    print(count, name)
print(f"{number} frames, {sum(total.values())} objects")
