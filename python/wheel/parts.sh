#!/bin/sh
# parts.sh TREE PARTS: builds OpenCV and protobuf for the wheel's library, from the source packages of PyPI that
# requirements.txt pins, unless they are built already. Also collects the licences. wheel.cmake calls this script.
set -eu
unset PYTHONPATH  # set by pip's build environment
tree=$1 parts=$2
here=$tree/python/wheel
mkdir -p "$parts/src"

fetch() {
    [ ! -e "$parts/src/fetched" ] || return 0
    [ -e "$parts/tools/bin/pip" ] || python3 -m venv "$parts/tools"
    "$parts/tools/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/tools.txt"
    "$parts/tools/bin/pip" download --quiet --no-binary :all: --no-deps --no-build-isolation --require-hashes \
        --dest "$parts/fetched" --requirement "$here/requirements.txt"
    for archive in "$parts/fetched"/*.tar.gz; do tar -xzf "$archive" -C "$parts/src"; done
    touch "$parts/src/fetched"
}

# Keeps paths of this machine out of all files. A path may contain blanks.
flags="\"-ffile-prefix-map=$tree=.\" -g0"

build_protobuf() {
    [ ! -e "$parts/protobuf/libprotobuf.a" ] || return 0
    cmake -G Ninja -S "$here/protobuf" -B "$parts/protobuf" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" \
        "$launcher" -DPROTOBUF_SOURCES="$protobuf"
    cmake --build "$parts/protobuf"
}

build_opencv() {
    [ ! -e "$parts/installed/lib/libopencv_dnn.a" ] || return 0
    off=""
    for part in IPP OPENCL TBB LAPACK EIGEN ITT VA VA_INTEL OPENMP TIFF OPENJPEG JASPER OPENEXR IMGCODEC_HDR \
        IMGCODEC_PFM AVIF JPEGXL GIF FLATBUFFERS ADE QUIRC OPENVX VULKAN CUDA OBSENSOR; do off="$off -DWITH_$part=OFF"; done
    for part in TESTS PERF_TESTS EXAMPLES opencv_apps JAVA opencv_python3 PROTOBUF SHARED_LIBS; do
        off="$off -DBUILD_$part=OFF"
    done
    for part in TIMESTAMP SYSTEM_VERSION EXTRA_MODULES; do off="$off -DBUILD_INFO_SKIP_$part=ON"; done
    for part in ZLIB PNG JPEG WEBP; do off="$off -DBUILD_$part=ON"; done
    # shellcheck disable=SC2086  # options without blanks
    cmake -G Ninja -S "$opencv" -B "$parts/opencv" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" \
        -DCMAKE_C_FLAGS="$flags" "$launcher" -DCMAKE_INSTALL_PREFIX="$parts/installed" \
        -DBUILD_LIST=core,imgproc,imgcodecs,dnn -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=17 \
        -DOPENCV_GENERATE_PKGCONFIG=OFF -DPROTOBUF_UPDATE_FILES=ON -DProtobuf_INCLUDE_DIR="$protobuf" \
        -DProtobuf_LIBRARY="$parts/protobuf/libprotobuf.a" -DProtobuf_PROTOC_EXECUTABLE=/usr/bin/protoc $off
    # Replaces the text of cv::getBuildInformation(), which would contain paths of this machine.
    printf '%s\n' '"OpenCV inside the Python package mpm\n"' >"$parts/opencv/modules/core/version_string.inc"
    cmake --build "$parts/opencv"
    cmake --install "$parts/opencv" >/dev/null
}

fetch
protobuf=$(echo "$parts"/src/grpcio-tools-*/third_party/protobuf/src)
opencv=$(echo "$parts"/src/opencv_python_headless-*/opencv)
launcher=-DMPM_NO_LAUNCHER=ON
if command -v ccache >/dev/null; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
build_protobuf
build_opencv
python3 "$here/licences.py" "$tree" "$parts" "$opencv" "$protobuf"
