#!/bin/sh
# opencv_module.sh MODULE SOURCE CXX INCLUDE...: checks the installed module for OpenCV's build. The sources
# must be those of the library, with other names of the public headers. Includes must not lead outside of the
# module, and the functions for Python must compile. tests/matrix/module.sh builds the module inside OpenCV.
set -eu
folder=$1 module=$1/mpm source=$2 cxx=$3  # OpenCV looks for folders with a CMakeLists.txt
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "opencv_module: $1" >&2 && exit 1; }

for file in CMakeLists.txt README.md LICENSE VERSION include/opencv2/mpm.hpp include/opencv2/mpm/mpm.hpp cmake/MpmOpenCv.cmake \
    test/test_main.cpp perf/perf_main.cpp samples/mpm_segment.py src/mpm.cpp; do
    [ -s "$module/$file" ] || fail "no $file"
done
[ -e "$folder/modules/mpm/CMakeLists.txt" ] || fail "it is not in modules/mpm"
# The module must have all sources of the library except on_load.cpp, which only the shared library has.
grep -o '[a-z_/0-9][a-z_/0-9]*\.cpp' "$source/mpm_layer/CMakeLists.txt" | grep -vx 'dnn/on_load.cpp' | sort -u >"$scratch/wanted"
(cd "$module/src/mpm_layer" && find . -name '*.cpp' | sed 's|^\./||' | sort) >"$scratch/found"
diff "$scratch/wanted" "$scratch/found" >&2 || fail "other sources than those of the library"
while read -r file; do
    sed 's|#include <mpm/|#include <opencv2/mpm/|' "$source/mpm_layer/$file" | cmp - "$module/src/mpm_layer/$file" || fail "$file differs"
done <"$scratch/found"
# Includes of files of MPM must be inside the module.
grep -rhoE '#include "(mpm_layer|base)/[^"]+"|#include <(opencv2/)?mpm/[^>]+>' "$module/src" "$module/include" "$module/test" | sort -u |
    while read -r include; do
        name=$(echo "$include" | sed 's/.*["<]\(.*\)[">]/\1/')
        [ -e "$module/src/$name" ] || [ -e "$module/include/$name" ] || fail "$include leads outside of the module"
    done
includes=
for folder; do includes="$includes -isystem $folder"; done
# shellcheck disable=SC2086  # a list of words
"$cxx" -std=c++17 -fsyntax-only -Wall -Wextra -Werror $includes -I"$module/include" -I"$module/src" "$module/src/mpm.cpp"
echo "opencv_module: $(wc -l <"$scratch/found") sources of the library are inside"
