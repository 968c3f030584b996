#!/bin/sh
# Checks that products of dimensions cannot overflow. sizes.awk defines which products count and when they are safe.
#   tests/check_sizes.sh [ROOT]        checks the tree (default: this tree)
#   tests/check_sizes.sh --self-test   checks that unsafe products of each kind are found and safe products pass
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer street models/onnx models/torch pipeline cli gui python gstreamer"

# check ROOT: prints FILE:LINE and the reason for each violation; exit status 1 if there is one.
check() {
    (cd "$1" && find $rooms -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) |
        sort | xargs awk -f "$here/sizes.awk")
}

# Checks a file that has only the given line.
judge() {
    rm -rf "$scratch/tree"
    for room in $rooms; do
        mkdir -p "$scratch/tree/$room"
    done
    printf '%s\n' "$1" >"$scratch/tree/mpm_layer/planted.cpp"
    check "$scratch/tree" >"$scratch/found" 2>&1
}

caught() {
    if judge "$1" || ! grep -q '^mpm_layer/planted.cpp:' "$scratch/found"; then
        echo "check_sizes: not caught: $1" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

passes() {
    if ! judge "$1"; then
        echo "check_sizes: caught, but safe: $1" >&2
        cat "$scratch/found" >&2
        exit 1
    fi
    planted=$((planted + 1))
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    planted=0
    caught 'int n = rows * cols;'
    caught 'int n = m.rows * m.cols;'
    caught 'const int n = x.size[0] * x.size[1];'
    caught 'const int n = x[2] * x[3];'
    caught 'v.resize(image.total() * channels);'
    caught 'v.resize(width * height * 3);'
    caught 'v.resize(3 * width * height);'
    caught 'v.resize(m_cropRows * m_cropColumns);'
    caught 'const size_t n = images * tokens;'
    caught 'const size_t n = (rows + 3) * (columns + 1);'
    caught 'const int n = x[2] / patch.height * (x[3] / patch.width);'
    caught 'const int n = size().width() * size().height();'
    caught 'call(a, rows * static_cast<size_t>(1), heads * dim);'
    caught 'const size_t n = static_cast<size_t>(rows * dim);'
    caught 'for (int d : shape) total *= dim;'
    caught 'for (int size : sizes) length *= static_cast<size_t>(size);'
    caught 'const size_t n = static_cast<int>(rows) * columns;'
    caught 'const size_t n = std::max(rows, 1) * columns;'
    caught 'const int n = rows *
    columns;'
    caught 'const int n = rows * columns;  // fits:'
    passes 'const size_t n = static_cast<size_t>(rows) * columns * dim;'
    passes 'const auto n = checkedProduct<int>(rows, columns);'
    passes 'const size_t n = size_t{3} * rows * columns;'
    passes 'const double n = 0.5 * rows * columns;'
    passes 'const int n = rows * columns;  // fits: both are sides of a tile, 64 at most'
    passes 'const float* rows = nullptr, *columns = rows;'
    passes 'void f(const float* rows, const int* columns);'
    passes 'size_t rows = 3, dim = 4; take(rows * dim);'
    passes 'const int n = a.size() * rows;'
    passes 'const int n = rows / columns * 3;'
    passes 'log("rows * columns");  // rows * columns'
    passes 'f(rows, *columns);'
    passes 'const int n = rows % columns * 4;'
    echo "check_sizes: $planted planted lines, all judged right"
}

if [ "${1:-}" = --self-test ]; then
    self_test
else
    check "${1:-$here/..}"
    echo "check_sizes: no raw product of dimensions in: $rooms"
fi
