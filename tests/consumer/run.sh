#!/bin/sh
# run.sh SOURCE PREFIX SCRATCH MODEL OPENCV: configures, builds and runs the program in SOURCE with the
# package in PREFIX, by find_package and by pkg-config, shared and static. All four programs must print the
# same. OPENCV is the folder of OpenCV's package. Our package must accept another point release of OpenCV, but
# no other series.
set -eu
source=$1 prefix=$2 scratch=$3 model=$4 opencv=$5
rm -rf "$scratch"
mkdir -p "$scratch"

cmake -S "$source" -B "$scratch" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$scratch"

pc=$(dirname "$(find "$prefix" -name mpm.pc)")
libs=$(dirname "$pc")
# compile NAME REPLACEMENT FLAG...: compiles with the output of pkg-config FLAG..., edited by sed.
compile() {
    name=$1 edit=$2
    shift 2
    # shellcheck disable=SC2046  # flags are words
    c++ -std=c++17 "$source/main.cpp" -o "$scratch/$name" \
        $(PKG_CONFIG_PATH="$pc" pkg-config "$@" --cflags --libs mpm | sed "$edit") "-Wl,-rpath,$libs"
}
compile consumer_pc ""
compile consumer_pc_static "s/-lmpm /-l:libmpm.a /" --static

for program in consumer consumer_static consumer_pc consumer_pc_static; do
    "$scratch/$program" "$model" | tee "$scratch/$program.txt"
    cmp "$scratch/consumer.txt" "$scratch/$program.txt"
done

# configure VERSION: configures the program with an OpenCV that reports VERSION.
configure() {
    rm -rf "$scratch/opencv" "$scratch/with"
    mkdir "$scratch/opencv"
    sed "s/^set(OpenCV_VERSION .*/set(OpenCV_VERSION $1)/" "$opencv/OpenCVConfig-version.cmake" >"$scratch/opencv/OpenCVConfig-version.cmake"
    printf 'include("%s/OpenCVConfig.cmake")\nset(OpenCV_VERSION %s)\n' "$opencv" "$1" >"$scratch/opencv/OpenCVConfig.cmake"
    cmake -S "$source" -B "$scratch/with" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DOpenCV_DIR="$scratch/opencv" >"$scratch/log" 2>&1
}
version=$(sed -n 's/^set(OpenCV_VERSION \([0-9.]*\).*/\1/p' "$opencv/OpenCVConfig-version.cmake")
series=${version%.*}
configure "$series.99" || { cat "$scratch/log" >&2 && exit 1; }
for other in "${series%.*}.$((${series#*.} + 1)).0" "${series%.*}.$((${series#*.} + 10)).0"; do
    ! configure "$other" || { echo "consumer: takes OpenCV $other for $series" >&2 && exit 1; }
    grep -q "built with OpenCV $series, not $other" "$scratch/log" || { cat "$scratch/log" >&2 && exit 1; }
done
