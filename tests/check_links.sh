#!/bin/sh
# Checks documents: links must lead to existing files and headings, and paths in `code` must exist.
#   tests/check_links.sh [ROOT]        checks the tree (default: this tree)
#   tests/check_links.sh --self-test   checks that each kind of broken link is found
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# targets FILE: prints "link TARGET" for each link, and "path TARGET" for each path from the root in `code`.
targets() {
    awk '/^```/ { code = !code } !code' "$1" | awk '
        {
            text = $0
            while (match(text, /\]\([^)]*\)/)) {
                print "link", substr(text, RSTART + 2, RLENGTH - 3)
                text = substr(text, RSTART + RLENGTH)
            }
            text = $0
            while (match(text, /`(base|mpm_layer|models|pipeline|street|cli|gui|tests|bench|cmake|assets|docs|\.ci)\/[a-z0-9_.\/-]*[` ]/)) {
                print "path", substr(text, RSTART + 1, RLENGTH - 2)
                text = substr(text, RSTART + RLENGTH - 1)
            }
        }'
}

# anchors FILE: prints the anchor of each heading.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / {
        sub(/^#+ /, ""); $0 = tolower($0); gsub(/[^a-z0-9_ -]/, ""); gsub(/ /, "-"); print }' "$1"
}

# check ROOT: prints a line for each broken link; exit status 1 if there is one.
check() (
    cd "$1"
    find ./*.md docs models examples -name '*.md' | sort | while read -r file; do
        targets "$file" | while read -r kind target; do
            path=${target%%#*} anchor=""
            case $target in
            *://*) continue ;;
            *#*) anchor=${target#*#} ;;
            esac
            [ "$kind" = path ] || path=$([ -n "$path" ] && echo "$(dirname "$file")/$path" || echo "$file")
            if [ ! -e "$path" ]; then
                echo "$file: $target does not exist"
            elif [ -n "$anchor" ] && ! anchors "$path" | grep -qxF -e "$anchor"; then
                echo "$file: $target: no such heading"
            fi
        done
    done >"$broken"
    cat "$broken" >&2
    [ ! -s "$broken" ]
)

# expect STATUS TEXT: a document with this text must pass (STATUS 0) or fail (1).
expect() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/docs" "$scratch/tree/models" "$scratch/tree/examples"
    printf '# A heading, or two\n%s\n' "$2" >"$scratch/tree/docs/a.md"
    echo '[a](docs/a.md)' >"$scratch/tree/README.md"
    result=0
    check "$scratch/tree" 2>"$scratch/output" || result=1
    [ $result = "$1" ] || { echo "check_links: status $result instead of $1 for: $2" >&2 && exit 1; }
}

scratch=$(mktemp -d)
broken=$scratch/broken
trap 'rm -rf "$scratch"' EXIT
if [ "${1:-}" = --self-test ]; then
    # shellcheck disable=SC2016  # Markdown
    expect 0 '[b](../README.md), [c](#a-heading-or-two), [d](https://example.org/x), `models/` and `docs/a.md OPTION`'
    expect 1 '[b](README.md)'
    expect 1 '[b](#another-heading)'
    expect 1 '[b](a.md#another-heading)'
    # shellcheck disable=SC2016
    expect 1 'See `docs/b.md`.'
    echo "check_links: every planted link was judged correctly"
else
    check "${1:-$here/..}" && echo "check_links: every link and path exists"
fi
