#!/bin/sh
# Builds the C and C++ programs of README.md and docs/guide with AddressSanitizer, runs them and compares their output.
#   tests/guide_programs.sh BUILD CXX CC "FLAGS" "LIBRARIES"
# A block with `int main` is a program. The other blocks are parts of a program: this script writes a function
# around each part, with parameters for the names that the part uses, and runs the function with the shipped
# model.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
cxx=$2 cc=$3 flags=$4 libraries=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Writes each block to blocks/PAGE_NUMBER.cpp, or .c.
mkdir blocks
for page in "$here"/README.md "$here"/docs/guide/*.md; do
    awk -v name="blocks/$(basename "$page" .md)" '
        /^```/ && out != "" { close(out); out = ""; next }
        /^```(c|cpp)( |$)/ { out = name "_" ++blocks (/^```cpp/ ? ".cpp" : ".c"); printf "" >out; next }
        out != "" { print >out }' "$page"
done
cat >parts.cpp <<'END'
#include <iostream>
#include <mpm/mpm.hpp>
#include <mpm/read_net.hpp>
#include <opencv2/imgcodecs.hpp>
END
programs=0 parts=0
for block in blocks/*; do
    case $block in *.c) compiler="$cc -std=c99" ;; *) compiler="$cxx -std=c++17" ;; esac
    if grep -q '^int main' "$block"; then
        # shellcheck disable=SC2086  # flags are words
        $compiler -g -O1 -fsanitize=address -Wall -Wextra -Werror $flags -o "$(basename "$block").run" "$block" $libraries
        programs=$((programs + 1))
        continue
    fi
    parts=$((parts + 1))
    name=$(basename "$block" .cpp)
    {
        echo "cv::Mat $name(cv::dnn::Net net, cv::Mat image, cv::Mat blob, const int* smallerShape) {"
        echo '(void)net, (void)image, (void)blob, (void)smallerShape; {'
        case $name in
        README_1) cat "$block" && echo 'return cv::Mat(1, 1, CV_32S, cv::Scalar(left));' ;;
        eomt_1) sed 's/"masks"/"logits"/' "$block" && echo 'return labels;' ;; # the shipped model has another output name
        program_3) cat "$block" && echo 'return net.forward();' ;;
        *) echo "guide_programs: $name is a new part: give its result, and compare it below" >&2 && exit 1 ;;
        esac
        echo '} }'
    } >>parts.cpp
done
# Runs the parts, then computes the input of the C program with the C++ interface.
cat >>parts.cpp <<'END'
bool same(const cv::Mat& a, const cv::Mat& b) {
    cv::Mat left, right;
    a.reshape(1, 1).convertTo(left, CV_32F);
    b.reshape(1, 1).convertTo(right, CV_32F);
    return a.total() == b.total() && cv::norm(left, right, cv::NORM_INF) == 0;
}
void compareParts() {
    const cv::Mat image = cv::imread("street.jpg"), blob = mpm::blobFromImage(image, mpm::modelInfo("vit.mpm.onnx"));
    std::cout << README_1({}, {}, {}, nullptr).at<int>(0) << "\n";
    std::cout << same(eomt_1({}, image, {}, nullptr), cv::imread("labels/street.labels.png", cv::IMREAD_UNCHANGED)) << "\n";
    cv::dnn::Net net = mpm::readNet("vit.mpm.onnx");
    net.setInput(blob);
    const cv::Mat expected = net.forward().clone();
    const int smallerShape[] = {1, 3, 16, 16};
    std::cout << same(program_3(net, {}, blob, smallerShape), expected) << "\n";
}
int main() {
    compareParts();
    const int sizes[] = {1, 3, 480, 640};
    cv::Mat input(4, sizes, CV_32F);
    for (int i = 0; i < 3 * 480 * 640; ++i) input.ptr<float>()[i] = (float)(i % 640) / 320 - 1;
    cv::dnn::Net net = mpm::readNet("vit.mpm.onnx");
    mpm::Encoder encoder = mpm::encoder(net);
    encoder.setSchedule({2, 5});
    net.setInput(input);
    net.forward();
    for (int tokens : encoder.tokens()) std::cout << tokens << " ";
    std::cout << "\n";
}
END
# shellcheck disable=SC2086
$cxx -std=c++17 -g -O1 -fsanitize=address $flags -o parts.run parts.cpp $libraries
[ $programs -eq 2 ] && [ $parts -eq 3 ] || { echo "guide_programs: $programs programs and $parts parts found" >&2 && exit 1; }

mkdir -p docs/images && cp "$here/docs/images/street.jpg" docs/images && cp docs/images/street.jpg .
# The programs set this schedule.
mpm="$build/cli/mpm" shipped="$build/share/mpm/street-vit-tiny.onnx"
"$mpm" convert "$shipped" vit.mpm.onnx --blocks 2,5 >/dev/null
"$mpm" convert "$shipped" eomt.mpm.onnx --blocks none --output labels >/dev/null
export LD_LIBRARY_PATH="$build/mpm_layer" MPM_DEVICE=cpu ASAN_OPTIONS=detect_leaks=0
"$mpm" run eomt.mpm.onnx street.jpg --blocks 2,5 --out labels --save labels >/dev/null
./parts.run >parts.txt
./program_1.cpp.run vit.mpm.onnx street.jpg >program.txt
./program_2.c.run vit.mpm.onnx >c.txt
fail() { echo "guide_programs: $1" >&2 && cat parts.txt program.txt c.txt >&2 && exit 1; }
[ "$(sed -n 2p parts.txt)" = 1 ] || fail "the guide to EoMT gets other labels than mpm run"
[ "$(sed -n 3p parts.txt)" = 1 ] || fail "an input of another shape in between changes the result"
# README's code and the program must report the same number of tokens, and so must C and C++.
[ "$(wc -w <program.txt)" -eq 12 ] || fail "the C++ program does not print the tokens of 12 blocks"
[ "$(awk '{ print $NF }' program.txt)" = "$(sed -n 1p parts.txt)" ] || fail "README counts other tokens than the guide"
[ "$(cat c.txt)" = "$(sed -n 4p parts.txt)" ] || fail "the C program prints other tokens than C++"
awk '{ exit !($1 == 1200 && $3 < $1 && $NF < $3 && $NF > 0) }' program.txt || fail "tokens do not become fewer"
echo "guide_programs: $programs programs and $parts parts"
