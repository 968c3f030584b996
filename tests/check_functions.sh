#!/bin/sh
# Checks that no function and no file is too long. functions.awk measures the lengths. The vector kernels are
# left out, because unrolled code is long.
#   tests/check_functions.sh [ROOT]        checks the tree (default: this tree)
#   tests/check_functions.sh --self-test   plants long and short functions of each kind and checks each result
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer street models pipeline cli gui python gstreamer"

# check ROOT: exit status 1 and a line per violation: FILE:LINE: why. Functions of tests and benchmarks may be long.
check() {
    result=0
    measure "$1" 60 $rooms || result=1
    measure "$1" 100000 tests bench || result=1
    return $result
}

# measure ROOT MOST-LINES ROOM...
measure() {
    root=$1 most=$2
    shift 2
    (cd "$root" && find "$@" -type f \( -name '*.hpp' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) |
        grep -vE '^mpm_layer/(cuda/)?kernels/' | sort | xargs awk -v mostLines="$most" -v mostFile=400 -f "$here/functions.awk")
}

# lines N: prints a function body of N statements.
lines() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    step(\"{ not a brace\");  // nor this {" }'
}

# judge: checks the planted file alone.
judge() {
    check "$scratch/tree" >"$scratch/found" 2>&1
}

plant() {
    rm -rf "$scratch/tree"
    for room in $rooms tests bench; do
        mkdir -p "$scratch/tree/$room"
    done
    cat >"$scratch/tree/$planted"
    echo >>"$scratch/planted"
}

caught() {
    plant
    if judge || ! grep -q "^$planted:.*$1" "$scratch/found"; then
        echo "check_functions: not caught: $1" >&2
        cat "$scratch/found" >&2
        exit 1
    fi
}

passes() {
    plant
    if ! judge; then
        echo "check_functions: caught, but short: $1" >&2
        cat "$scratch/found" >&2
        exit 1
    fi
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    planted=mpm_layer/planted.cpp
    { echo 'void f() {'; lines 59; echo '}'; } | caught 'f has 61 lines'
    { echo 'void f() {'; lines 58; echo '}'; } | passes 'f'
    { echo 'namespace a {'; lines 70; echo '}'; } | passes 'a namespace'
    { printf 'void f(int a,\n    int b) {\n'; lines 60; echo '}'; } | caught 'f has 62 lines'
    { echo 'struct A {'; echo '    A() : m_a{1}, m_b{2} {'; lines 60; echo '    }'; echo '};'; } | caught '62 lines'
    { echo 'struct A {'; lines 70; echo '};'; } | passes 'a class'
    { echo 'bool A::operator==(const A& b) const {'; lines 60; echo '}'; } | caught '62 lines'
    { echo 'const auto kTable = Row{'; lines 70; echo '};'; } | passes 'a table'
    { echo 'void f() {'; echo '    const auto g = [&] {'; lines 60; echo '    };'; echo '}'; } | caught 'f has 64 lines'
    { echo 'void f() {'; lines 40; echo '}'; echo 'void g() {'; lines 40; echo '}'; } | passes 'two functions'
    { printf '#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n'; lines 30; echo '}'; } | passes 'a head with two branches'
    { printf 'const char* k = R"(\n{{{\n)";\nvoid f() {\n'; lines 60; echo '}'; } | caught 'f has 62 lines'
    { printf '/* {\n { */\nvoid f() {\n'; lines 60; echo '}'; } | caught 'f has 62 lines'
    { echo 'void f() {'; } | caught 'braces do not match'
    lines 401 | caught '401 lines'
    lines 400 | passes 'a file of 400 lines'
    planted=tests/planted.cpp
    lines 401 | caught '401 lines'
    { echo 'void f() {'; lines 100; echo '}'; } | passes 'a function of a test'
    echo "check_functions: $(wc -l <"$scratch/planted") planted files, all judged right"
}

if [ "${1:-}" = --self-test ]; then
    self_test
else
    check "${1:-$here/..}"
    echo "check_functions: functions of at most 60 lines, files of at most 400"
fi
