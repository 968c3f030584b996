#!/bin/sh
# Counts words that plain English avoids: "picture" for image or frame, and "what" as a noun (CONTRIBUTING.md, "Language").
#   tests/check_words.sh [ROOT]        rates of documents, comments and strings; fails if a rate is too high
#   tests/check_words.sh --list        the same, with each place
#   tests/check_words.sh --self-test   checks that words are found in documents, comments and strings
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rooms="base mpm_layer models/onnx models/torch models/zoo pipeline street cli gui python gstreamer tests bench cmake .ci"

# files KIND FOLDER...: lists the files with this kind of text. Strings of tests are not checked.
files() {
    kind=$1
    shift
    case $kind in
    documents) find "$@" -maxdepth 1 -name '*.md' ;;
    strings) find "$@" -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.cu' \) | grep -v '^tests/' ;;
    comments)
        find "$@" -type f \( -name '*.cpp' -o -name '*.[hc]' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \
            -o -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt \
            -o -name run \)
        ;;
    esac
}

# rates KIND LIST FOLDER...: prints the rates; exit status 1 if a rate is too high.
rates() {
    kind=$1 list=$2
    shift 2
    files "$kind" "$@" | sort >"$scratch/files"
    # shellcheck disable=SC2046  # file names of the project hold no blanks
    [ ! -s "$scratch/files" ] || awk -v kind="$kind" -v list="$list" -f "$here/words.awk" $(cat "$scratch/files")
}

# existing NAME...: prints the names that are folders here.
existing() {
    for folder; do
        [ ! -d "$folder" ] || echo "$folder"
    done
}

# check ROOT LIST: prints the rates of each kind of text.
check() (
    cd "$1"
    status=0
    # shellcheck disable=SC2046,SC2086  # lists of folders
    {
        rates documents "$2" . $(find docs models -type d) || status=1
        for kind in comments strings; do
            rates $kind "$2" $(existing $rooms) || status=1
        done
    }
    return $status
)

# expect STATUS FILE TEXT: a tree with this text in FILE must pass (STATUS 0) or fail (1).
expect() {
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree/docs" "$tree/models" "$tree/base" "$tree/cli" "$tree/tests"
    echo 'A frame and an image.' >"$tree/README.md"
    echo 'int answer() { return fail("no such file"); }  // it is missing' >"$tree/base/file.cpp"
    printf '%s\n' "$3" >>"$tree/$2"
    result=0
    check "$tree" 0 >"$scratch/output" || result=1
    [ "$result" = "$1" ] || {
        echo "check_words: status $result instead of $1 for '$3' in $2" >&2
        cat "$scratch/output" >&2
        exit 1
    }
}

self_test() {
    expect 0 README.md 'The per_picture key and whatever else.'
    expect 1 README.md 'Two Pictures.'
    expect 1 docs/guide.md 'It prints what it reads.'
    expect 1 base/file.cpp '// What is refused.'
    expect 1 base/file.cpp '/* A comment'"
"'of two lines, and a picture. */'
    expect 1 base/file.cpp 'fail("no \"such\" picture");'
    expect 0 base/file.cpp 'picture = what("picture");'
    expect 1 cli/file.cpp '// What is refused.'
    expect 1 tests/run.sh '# what it runs'
    expect 0 tests/run.sh 'echo what'
    echo "check_words: every planted word was found"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case ${1:-} in
--self-test) self_test ;;
--list) check "$here/.." 1 ;;
*) check "${1:-$here/..}" 0 ;;
esac
