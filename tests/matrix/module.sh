#!/bin/sh
# Builds the module opencv_mpm inside OpenCV (sources from PyPI). Runs its tests, and the model in Python.
#   tests/matrix/module.sh [4.14|5.0]... [-- CMAKE-OPTION...]
# Needs PyPI, the packages of `./run build`, libpng-dev and zlib1g-dev, and half an hour on two cores for each version; builds are kept in
# build/module.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
work=$tree/build/module
mkdir -p "$work"
versions=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    versions="$versions $1"
    shift
done
[ $# -eq 0 ] || shift

# fetch RELEASE: downloads the sources to $work/opencv_python_headless-RELEASE.
fetch() {
    [ ! -e "$work/opencv_python_headless-$1/opencv" ] || return 0
    [ -e "$work/tools" ] || { python3 -m venv "$work/tools" && "$work/tools/bin/pip" install -q setuptools==65.5.0 scikit-build==0.19.1 wheel==0.48.0 Cython==3.3.1; }
    "$work/tools/bin/pip" download -q --no-binary :all: --no-deps --no-build-isolation --dest "$work/fetched" "opencv-python-headless==$1"
    tar -xzf "$work/fetched/opencv_python_headless-$1.tar.gz" -C "$work"
}

# build RELEASE BUILD CMAKE-OPTION...: builds only the parts of OpenCV that the module needs.
build() {
    source=$work/opencv_python_headless-$1/opencv folder=$2
    shift 2
    off=
    for part in IPP OPENCL TBB LAPACK EIGEN ITT VA VA_INTEL OPENMP TIFF WEBP OPENJPEG JASPER OPENEXR AVIF JPEGXL FLATBUFFERS ADE \
        QUIRC OPENVX VULKAN CUDA OBSENSOR GTK QT FFMPEG GSTREAMER V4L 1394; do off="$off -DWITH_$part=OFF"; done
    launcher=-DMPM_NO_LAUNCHER=ON
    ! command -v ccache >/dev/null || launcher="-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache"
    # shellcheck disable=SC2086  # options without blanks
    cmake -G Ninja -S "$source" -B "$folder" -DCMAKE_BUILD_TYPE=Release $launcher -DBUILD_LIST=core,imgproc,imgcodecs,dnn,python3,ts,mpm \
        -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=17 -DCPU_DISPATCH=AVX2 -DBUILD_TESTS=ON \
        -DBUILD_PERF_TESTS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_opencv_apps=OFF -DBUILD_JAVA=OFF \
        -DOPENCV_GENERATE_PKGCONFIG=OFF -DPYTHON3_EXECUTABLE=/usr/bin/python3 $off \
        -DOPENCV_EXTRA_MODULES_PATH="$work/share/mpm/opencv_module" "$@"
    cmake --build "$folder" --target opencv_test_mpm opencv_python3
}

sh "$tree/mpm_layer/opencv_module/make.sh" "$tree" "$work/made" "$(sed -n 's/^project(mpm VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")"
mkdir -p "$work/share/mpm"
rm -rf "$work/share/mpm/opencv_module"
cp -a "$work/made" "$work/share/mpm/opencv_module"
cp "$tree/models/zoo/street-vit-tiny.onnx" "$work/share/mpm/"
for version in ${versions:-4.14 5.0}; do
    case $version in
    4.14) release=4.14.0.94 ;;
    5.0) release=5.0.0.93 ;;
    *) echo "module: unknown version '$version': use 4.14 or 5.0" >&2 && exit 2 ;;
    esac
    fetch $release
    build $release "$work/$version" "$@"
    "$work/$version/bin/opencv_test_mpm"
    PYTHONPATH="$(dirname "$(find "$work/$version/lib" -name 'cv2*.so' | head -n 1)")" PYTHONNOUSERSITE=1 /usr/bin/python3 - \
        "$work/share/mpm/street-vit-tiny.onnx" "$tree/docs/images/street.jpg" <<'END'
import sys
import cv2
model, image = sys.argv[1:]
cv2.mpm.registerLayers()
net = cv2.dnn.readNetFromONNX(model)
net.setInput(cv2.mpm.blobFromImage(cv2.imread(image), model))
shares = {}
for blocks in ("none", "2,5"):
    cv2.mpm.set("blocks", blocks)
    labels = net.forward()[0].argmax(0)
    tokens = cv2.mpm.tokens()
    shares[blocks] = labels
    print("cv2", cv2.__version__, "blocks", blocks, "tokens", list(tokens))
assert tokens[-1] < tokens[0] and (shares["none"] == shares["2,5"]).mean() > 0.9
END
    echo "module: OpenCV $version: built, tested, and run in Python"
done
