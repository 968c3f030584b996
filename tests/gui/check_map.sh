#!/bin/sh
# Checks that every test in docs/internals/test_map.md exists: a program in tests/*/CMakeLists.txt, a case in its sources.
#   sh tests/gui/check_map.sh [FILE]      --self-test: checks that a wrong name is found
set -eu
cd "$(dirname "$0")/../.."

# The names in the last column of tables: "program case", one per line; a case without a program belongs to the one before.
names() {
    awk -F '|' '/^\|/ && NF >= 4 { print $(NF - 1) }' "$1" | grep -o '`[^`]*`' | tr -d '`' |
        awk '$1 ~ /^test_/ { program = $1; print program, $2; next } program != "" && NF == 1 { print program, $1 }'
}

# "program source" of every program and each of its sources: the words between the brackets.
programs() {
    for list in $(find tests -name CMakeLists.txt); do
        tr '\n' ' ' <"$list" | grep -oE 'mpm_add(_gui)?_test\([^)]*\)' |
            awk -v folder="$(dirname "$list")" '{
                sub(/^[^(]*\(/, ""); sub(/\)$/, "")
                for (i = 2; i <= NF; ++i) if ($i ~ /\.cpp$/) print $1, folder "/" $i
            }'
    done
}

check() {
    missing=0
    names "$1" | sort -u >"$work/names"
    while read -r program case; do
        files=$(awk -v program="$program" '$1 == program { print $2 }' "$work/programs")
        if [ -z "$files" ]; then
            echo "$1: $program is not a test of any CMakeLists.txt" >&2
            missing=1
            continue
        fi
        [ -n "$case" ] || continue
        # Qt Test: void Class::name(). GoogleTest: TEST(Suite, Name), named Suite.Name, Suite.* or Name.
        suite=${case%%.*} name=${case#*.}
        [ "$name" != '*' ] || name='[A-Za-z]*'
        [ "$suite" != "$case" ] || suite='[A-Za-z]*'
        # shellcheck disable=SC2086  # a list of files
        grep -qE "::$case\(|TEST(_F|_P)?\($suite, $name\)" $files 2>/dev/null || {
            echo "$1: $program has no case $case" >&2
            missing=1
        }
    done <"$work/names"
    [ -s "$work/names" ] || missing=1
    return $missing
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs >"$work/programs"
if [ "${1:-}" = --self-test ]; then
    printf '| a | `test_gui_models commandLine`, `noSuchCase` |\n' >"$work/wrong.md"
    printf '| a | `test_gui_models commandLine` |\n' >"$work/right.md"
    check "$work/right.md"
    ! check "$work/wrong.md" 2>/dev/null
else
    check "${1:-docs/internals/test_map.md}"
fi
