#!/bin/sh
# Counts words that plain English avoids: "picture" for image or frame, and "what" as a noun (CONTRIBUTING.md, "Language").
#   tests/check_words.sh [ROOT]        rates of documents, comments and strings; fails where one is too high
#   tests/check_words.sh --list        the same, with each place
#   tests/check_words.sh --self-test   checks that words are found in documents, comments and strings
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer models pipeline street cli gui python gstreamer"

# Kinds whose rate fails the check; the others are only printed.
enforced="documents"

# files KIND: the files that hold this kind of text, one a line.
# shellcheck disable=SC2086  # $rooms is a list
files() {
    case $1 in
    documents) find ./*.md docs models -name '*.md' ;;
    strings) find $rooms -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cu' \) 2>/dev/null ;;
    comments)
            find $rooms tests bench cmake run .ci CMakeLists.txt -type f \( -name '*.cpp' -o -name '*.[hc]' -o -name '*.hpp' \
            -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name '*.mjs' \
            -o -name '*.cmake' -o -name CMakeLists.txt -o -name run \) 2>/dev/null
        ;;
    esac
}

# check ROOT [LIST]: one line for each kind; exit status 1 if an enforced rate is too high.
check() (
    cd "$1"
    status=0
    for kind in documents comments strings; do
        case " $enforced " in *" $kind "*) enforce=1 ;; *) enforce=0 ;; esac
        # shellcheck disable=SC2046  # file names of the project hold no blanks
        awk -v kind="$kind" -v list="${2:-0}" -v enforce=$enforce -f "$here/words.awk" $(files $kind | sort) || status=1
    done
    return $status
)

# expect STATUS FILE TEXT: a tree with this text in FILE passes (0) or fails (1).
expect() {
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree/docs" "$tree/models" "$tree/cli" "$tree/tests" "$tree/bench" "$tree/cmake" "$tree/.ci"
    echo 'A frame and an image.' >"$tree/README.md"
    echo 'int answer() { return fail("no such file"); }  // it is missing' >"$tree/cli/file.cpp"
    printf '%s\n' "$3" >>"$tree/$2"
    result=0
    (enforced="documents comments strings" && check "$tree") >"$scratch/output" || result=1
    [ "$result" = "$1" ] || {
        echo "check_words: status $result instead of $1 for '$3' in $2" >&2
        cat "$scratch/output" >&2
        exit 1
    }
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    expect 0 README.md 'The per_picture key and whatever else.'
    expect 1 README.md 'Two Pictures.'
    expect 1 docs/guide.md 'It prints what it reads.'
    expect 1 cli/file.cpp '// What is refused.'
    expect 1 cli/file.cpp '/* A comment'"
"'of two lines, and a picture. */'
    expect 1 cli/file.cpp 'fail("no \"such\" picture");'
    expect 0 cli/file.cpp 'picture = what("picture");'
    expect 1 tests/run.sh '# what it runs'
    expect 0 tests/run.sh 'echo what'
    echo "check_words: every planted word was found"
}

case ${1:-} in
--self-test) self_test ;;
--list) check "$here/.." 1 ;;
*) check "${1:-$here/..}" ;;
esac
