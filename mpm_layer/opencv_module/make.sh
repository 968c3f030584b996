#!/bin/sh
# make.sh SOURCE FOLDER VERSION: writes the module for OpenCV's build to FOLDER/modules/mpm, from this folder and the library's own
# sources, so that no source is kept twice. `cmake --install` calls this script. FOLDER/mpm is a link to the module, because OpenCV
# looks for modules one folder deep.
set -eu
source=$(cd "$1" && pwd) folder=$2 version=$3
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
layer=$source/mpm_layer module=$folder/modules/mpm
mkdir -p "$module/cmake" "$module/include/opencv2/mpm" "$module/src/base" "$module/src/mpm_layer"
cp -r "$layer/opencv_module/." "$module/"
rm "$module/make.sh"
cp "$source/cmake/MpmOpenCv.cmake" "$module/cmake/"
cp "$source/LICENSE" "$module/"
echo "$version" >"$module/VERSION"
cp "$source"/base/*.hpp "$module/src/base/"
cp "$layer"/include/mpm/* "$module/include/opencv2/mpm/"
# Copies the sources that CMakeLists.txt names, and all headers except those of libmpm_cuda.
{
    sed -n 's/^  \([a-z_/0-9]*\.cpp\)).*/\1/p; s/^  \([a-z_/0-9]*\.cpp\)$/\1/p' "$layer/CMakeLists.txt"
    (cd "$layer" && find . \( -name '*.hpp' -o -name '*.h' \) ! -path './include/*' ! -path './opencv_module/*' \
        ! \( -path './cuda/*' ! -path './cuda/loader/*' ! -path './cuda/interface/*' \) -print | sed 's|^\./||')
} | sort -u | (cd "$layer" && xargs cp --parents -t "$module/src/mpm_layer")
# In OpenCV the public headers are <opencv2/mpm/...>.
find "$module" \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \) -exec sed -i 's|#include <mpm/|#include <opencv2/mpm/|' {} +
find "$folder" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
ln -s modules/mpm "$folder/mpm"
