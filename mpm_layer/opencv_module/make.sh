#!/bin/sh
# make.sh SOURCE FOLDER VERSION: writes the module for OpenCV's build to FOLDER/modules/mpm, from this folder and the library's own
# sources, so that nothing is kept twice: `cmake --install` calls it. FOLDER/mpm leads to it, because OpenCV looks for modules one
# folder deep.
set -eu
source=$1 folder=$2 version=$3
layer=$source/mpm_layer module=$folder/modules/mpm
rm -rf "$folder"
mkdir -p "$module/cmake" "$module/include/opencv2/mpm" "$module/src/base"
(cd "$layer/opencv_module" && find . -type f ! -name make.sh -print) | sort | while read -r file; do
    mkdir -p "$(dirname "$module/$file")"
    cp "$layer/opencv_module/$file" "$module/$file"
done
cp "$source/cmake/MpmOpenCv.cmake" "$module/cmake/"
cp "$source/LICENSE" "$module/"
echo "$version" >"$module/VERSION"
cp "$source"/base/*.hpp "$module/src/base/"
cp "$layer"/include/mpm/* "$module/include/opencv2/mpm/"
# The sources that CMakeLists.txt names, and every header but those of the GPU's library.
{
    sed -n 's/^  \([a-z_/0-9]*\.cpp\)).*/\1/p; s/^  \([a-z_/0-9]*\.cpp\)$/\1/p' "$layer/CMakeLists.txt"
    (cd "$layer" && find . \( -name '*.hpp' -o -name '*.h' \) ! -path './include/*' ! -path './opencv_module/*' \
        ! \( -path './cuda/*' ! -path './cuda/loader/*' ! -path './cuda/interface/*' \) -print | sed 's|^\./||')
} | sort -u | while read -r file; do
    mkdir -p "$(dirname "$module/src/mpm_layer/$file")"
    cp "$layer/$file" "$module/src/mpm_layer/$file"
done
# In OpenCV the public headers are <opencv2/mpm/...>.
find "$module" \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' \) -exec sed -i 's|#include <mpm/|#include <opencv2/mpm/|' {} +
find "$folder" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
ln -s modules/mpm "$folder/mpm"
