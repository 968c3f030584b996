"""watch.py SOURCE: watches a fixed camera, computes only what changed, and reports when a class appears or leaves.

    watch.py rtsp://camera/stream --class pedestrian --share 0.01
    watch.py demo --frames 20                the built-in street, without a camera
"""
import argparse
import json
import time

import mpm

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("source", help="a camera's number, an address, a video, a folder, or demo")
parser.add_argument("--class", dest="name", default="pedestrian", help="the class to watch")
parser.add_argument("--share", type=float, default=0.01, help="of the image, from which the class counts as there")
parser.add_argument("--frames", type=int, default=0, help="end after so many; 0: never")
parser.add_argument("--model", default="default", help="a file of `mpm convert`")
options = parser.parse_args()

# refresh=30: every token is computed again after at most 30 frames. full=0.25: if more than 0.25 of the tokens changed,
# all tokens are computed.
model = mpm.Model(options.model, reuse="refresh=30,full=0.25", precision="auto")
if options.name not in model.classes:
    parser.error(f"--class: the model's classes are {', '.join(model.classes)}")
watched = model.classes.index(options.name)

there, computed, began, frames = False, 0.0, time.monotonic(), 0
source = int(options.source) if options.source.isdigit() else options.source
for result in model.stream(source, stream="camera"):
    frames += 1
    computed += result.recomputed
    share = float((result.labels == watched).mean())
    # A class leaves at half of the share, so that a share near the limit does not cause many reports.
    if share >= options.share if not there else share < options.share / 2:
        there = not there
        print(json.dumps({"frame": frames, "class": options.name, "event": "arrived" if there else "left",
                          "share": round(share, 4)}), flush=True)
    if frames == options.frames:
        break

seconds = time.monotonic() - began
print(f"{frames} frames, {frames / seconds:.1f} a second, {100 * computed / max(frames, 1):.0f} % of the tokens computed")
