#!/bin/sh
# Measures the figures about objects in docs/internals/performance.md, and prints them as Markdown: reuse in a detector,
# boxes with reuse, tracks, false alarms. BUILD must have the targets mpm_bench_reuse, mpm_bench_boxes, mpm_bench_tracks
# and mpm_bench_alarms of -DMPM_BUILD_BENCH=ON.
#
#     bench/objects.sh [BUILD] ["PART ..."]
#
# Parts: detector, boxes, tracks, alarms (default: all). The part detector needs DETECTOR, a converted model, and VIDEO,
# such as vtest.avi of opencv-doc; if they are not set, the default leaves this part out. PEER is a command that times
# the detector's export in another engine. MPM_MEASURE is a prefix of each measuring command. The exit status
# is 1 if a required value is missed, 2 if a program is missing.
set -eu
build=${1:-build/release}
parts=${2:-}
if [ -z "$parts" ]; then
    parts="boxes tracks alarms"
    if [ -n "${DETECTOR:-}" ] && [ -n "${VIDEO:-}" ]; then parts="detector $parts"; fi
fi

# measure TITLE PROGRAM [ARGUMENT...]: runs a part; if the part misses a required value, the script continues
status=0
measure() {
    printf '\n## %s\n\n' "$1"
    program=$build/bench/$2
    [ -x "$program" ] || { echo "$program: not there; build the target $2 with -DMPM_BUILD_BENCH=ON" >&2 && exit 2; }
    shift 2
    # shellcheck disable=SC2086  # a command and its options
    ${MPM_MEASURE:-} "$program" "$@" || status=1
}

for part in $parts; do
    case $part in
    detector)
        measure "Reuse in a detector" mpm_bench_reuse --detector --model "${DETECTOR:?a converted detector}" \
            --video "${VIDEO:?the video of a fixed camera}" --precision f32,bf16,i8 ${PEER:+--peer "$PEER"}
        ;;
    boxes) measure "Boxes with reuse on the built-in street" mpm_bench_boxes 1 8 default 20 5 ;;
    tracks) measure "Tracks on the built-in street" mpm_bench_tracks ;;
    alarms) measure "False alarms in scripted streets" mpm_bench_alarms 5 20 default 5 ;;
    *) echo "$part: no part; choose from detector, boxes, tracks, alarms" >&2 && exit 2 ;;
    esac
done
exit $status
