#!/bin/sh
# inspect.sh: gst-inspect-1.0 describes the element, every property and the pads; gst-launch-1.0 runs it.
set -eu
export LC_ALL=C.UTF-8  # tools may translate the words that this script searches
text=$(gst-inspect-1.0 mpmsegment)
for words in 'Segmentation with merged' 'SINK template' 'SRC template' BGR GRAY8 MpmSegmentMeta model blocks precision device reuse \
    output overlay labels map opacity alert-class alert-share alert-hold qos; do
    printf '%s' "$text" | grep -q -e "$words" || { echo "inspect: no '$words'" >&2 && exit 1; }
done
for property in blocks precision reuse output opacity; do
    printf '%s' "$text" | grep -A 2 "^  $property " | grep -q 'changeable in NULL, READY, PAUSED or PLAYING' ||
        { echo "inspect: $property cannot change while playing" >&2 && exit 1; }
done
gst-launch-1.0 -q videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48 ! videoconvert ! mpmsegment model="$MPM_TINY_MODEL" output=map ! \
    videoconvert ! fakesink
echo "inspect: the element describes itself and runs"
