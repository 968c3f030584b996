#!/bin/sh
# Makes the images of the documents again, after a change of views, colours or the shipped model.
#   sh docs/site/images.sh BUILD_FOLDER [NAME...]   NAME: front, monitor-light, monitor-dark, street
#   sh docs/site/images.sh --check [TREE]           every image of the documents has a row below, and every file is used
# Needs python3-opencv. Screenshots show the times of this machine: let nothing else run.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)

# Each image, and how it is made: here (by a function of that name), or by another command.
rows() {
    cat <<'END'
docs/images/front.webp            front
docs/images/monitor-light.webp    monitor_light
docs/images/monitor-dark.webp     monitor_dark
docs/images/street.jpg            street
docs/images/frame.svg             - drawn by hand
docs/reference/plots/reuse.svg    - mpm_bench_reuse --plot
docs/reference/plots/reuse-day.svg - mpm_bench_reuse --day
END
    for plot in accuracy tokens distance regions night tuning depth; do
        echo "docs/reference/plots/$plot.svg - bench/evaluation.sh"
    done
}

# used TREE: every image of the documents, from the root; street.jpg is the image that the guides work on.
used() (
    cd "$1"
    echo docs/images/street.jpg
    find README.md docs -name '*.md' | while read -r page; do
        sed -n 's/.*!\[[^]]*\](\([^)]*\)).*/\1/p' "$page" | while read -r image; do
            realpath -m --relative-to . "$(dirname "$page")/$image"
        done
    done
)

check() {
    made=$(rows | cut -d ' ' -f 1 | sort -u) files=$(cd "$1" && ls docs/images/* docs/reference/plots/*)
    used=$(used "$1" | sort -u)
    [ "$made" = "$used" ] && [ "$made" = "$files" ] && return
    echo "images: rows of the script, images of the documents and files must be the same:"
    printf '%s\n' "$made" "$used" "$files" | sort | uniq -c | awk '$1 < 3 { print "    " $2 }'
    exit 1
}

# A clip of a fixed camera, and a frame of it that reuse and merging show.
clip() {
    [ -d clip ] || "$build/models/torch/mpm-models" scene clip --clip day --frames 14 >/dev/null
}

street() {
    "$build/models/torch/mpm-models" scene one --frames 2 >/dev/null
    write 80 one/val/images/scene0001.png
}

front() {
    clip
    "$build/cli/mpm" run default clip/val/images --reuse --save reuse --out drawn >/dev/null
    "$build/cli/mpm" run default clip/val/images/day000013.png --save map --out drawn >/dev/null
    write 75 drawn/day000013.reuse.png drawn/day000013.map.png
}

monitor_light() {
    screenshot light
}

# With a region that is measured separately, and a mask.
monitor_dark() {
    mkdir -p home/.config/mpm/monitor
    cat >home/.config/mpm/monitor/dark.watch.json <<'END'
{"sources": {"demo": {
    "regions": [{"name": "Crossing", "outline": [[0.2, 0.55], [0.75, 0.55], [0.95, 0.75], [0.05, 0.75]]}],
    "masks": [[[0.8, 0.1], [1, 0.1], [1, 0.5], [0.8, 0.5]]]}}}
END
    screenshot dark
}

# screenshot THEME: by day, after a night in fast motion
screenshot() {
    HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home/.config XDG_DATA_HOME=$PWD/home/.local/share QT_QPA_PLATFORM=offscreen LC_ALL=C.UTF-8 \
        "$build/gui/mpm-monitor" --source demo --model default --profile "$1" --theme "$1" --window 1440x900 --day-cycle 1000 \
        --screenshot "$1.png" --after 88 2>/dev/null
    write 50 "$1.png"
}

# write QUALITY PNG...: side by side, to $to; a window is reduced to the width of a page
write() {
    /usr/bin/python3 - "$to" "$@" <<'END'
import sys, cv2, numpy
to, quality, *files = sys.argv[1:]
images = [cv2.imread(file) for file in files]
if images[0].shape[1] > 1200:
    images[0] = cv2.resize(images[0], (1200, 1200 * images[0].shape[0] // images[0].shape[1]), interpolation=cv2.INTER_AREA)
gap = numpy.full((len(images[0]), 8, 3), 255, numpy.uint8)
cv2.imwrite(to, numpy.hstack([part for image in images for part in (gap, image)][1:]), [cv2.IMWRITE_JPEG_QUALITY, int(quality),
            cv2.IMWRITE_JPEG_OPTIMIZE, 1, cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_WEBP_QUALITY, int(quality)])
END
}

if [ "$1" = --check ]; then
    check "${2:-$root}"
    exit
fi
build=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rows | while read -r image how _; do
    [ "$how" != - ] || continue
    name=$(basename "${image%.*}")
    case " ${*:-$name} " in
    *" $name "*) to=$root/$image "$how" ;;
    esac
done
