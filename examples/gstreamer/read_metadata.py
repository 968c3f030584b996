"""read_metadata.py SOURCE: plays a pipeline with mpmsegment and prints a line of JSON for each frame, from the frame's metadata.

    read_metadata.py 'filesrc location=clip.mp4 ! decodebin'
    read_metadata.py 'rtspsrc location=rtsp://camera/stream ! rtph264depay ! avdec_h264' --reuse
    read_metadata.py 'videotestsrc num-buffers=3'

Needs python3-gi, gir1.2-gstreamer-1.0 and gir1.2-gst-plugins-base-1.0.
"""
import argparse
import json
import warnings

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: E402, F401  (GstApp gives appsink its methods)

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("source", help="the beginning of a pipeline")
parser.add_argument("--model", default="default", help="a file of `mpm convert`; a detector gives objects, too")
parser.add_argument("--reuse", action="store_true", help="compute only what changed: for a fixed camera")
options = parser.parse_args()
warnings.simplefilter("ignore", DeprecationWarning)  # gi reads arrays as a deprecated type of GObject


def array(structure, name):
    found, values = structure.get_array(name)
    return [values.get_nth(i) for i in range(values.n_values)] if found else []


def number(structure, name):
    return round(structure.get_double(name)[1], 4)


def objects(buffer):
    """Returns the boxes of a detector. From GStreamer 1.26 on, boxes are in a GstAnalyticsRelationMeta instead."""
    found = []
    while region := GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, len(found)):
        identity = region.get_param("object_id")
        found.append({"id": identity.get_int("id")[1] if identity else None,
                      "class": GLib.quark_to_string(region.roi_type), "box": [region.x, region.y, region.w, region.h],
                      "score": number(region.get_param("detection"), "confidence")})
    return found


def line(buffer):
    figures = buffer.get_custom_meta("MpmSegmentMeta").get_structure()
    return {"seconds": round(buffer.pts / Gst.SECOND, 3), "tokens": array(figures, "tokens"),
            "shares": dict(zip(array(figures, "classes"), (round(share, 4) for share in array(figures, "shares")))),
            "ms": number(figures, "total-ms"), "recomputed": number(figures, "recomputed"), "objects": objects(buffer)}


Gst.init(None)
pipeline = Gst.parse_launch(f"{options.source} ! videoconvert ! mpmsegment name=mpm qos=false ! "
                            "appsink name=out sync=false max-buffers=4")
element, out = pipeline.get_by_name("mpm"), pipeline.get_by_name("out")
element.set_property("model", options.model)
element.set_property("reuse", "on" if options.reuse else "off")
pipeline.set_state(Gst.State.PLAYING)
failure = None
while not failure and not out.is_eos():
    if sample := out.try_pull_sample(Gst.SECOND // 10):
        print(json.dumps(line(sample.get_buffer())), flush=True)
    failure = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
if failure:
    parser.exit(1, f"read_metadata.py: {failure.parse_error()[0].message}\n")
