#!/bin/sh
# Checks that a tree may be released, and prints a line for each problem:
#   release_checks.sh [ROOT]        checks the tree ROOT (default: this tree)
#   release_checks.sh --self-test   checks that the script finds each problem
# Every file with a version must have the version of CMakeLists.txt. CHANGELOG.md must also have its date. No
# change may be uncommitted. Every text must have a translation, the interface a dump, every part a licence.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

version_of() { sed -n 's/^project(mpm VERSION \([0-9.]*\).*/\1/p' "$1/CMakeLists.txt"; }

# Each of the functions below prints the problems that it finds.
clean() {
    [ ! -e "$1/.git" ] || [ -z "$(git -C "$1" status --porcelain)" ] || echo "uncommitted changes: $(git -C "$1" status --porcelain | head -n 3)"
}

versions() (
    cd "$1"
    version=$(version_of .)
    [ -n "$version" ] || echo "CMakeLists.txt has no version"
    package=$(sed -n '1s/^mpm (\([^)]*\)).*/\1/p' assets/debian/changelog)
    [ "$package" = "$version" ] || echo "assets/debian/changelog has $package, not $version"
    shown=$(sed -n 's/.*<release version="\([^"]*\)".*/\1/p' assets/desktop/org.mpm_project.Monitor.metainfo.xml | head -n 1)
    [ "$shown" = "$version" ] || echo "the monitor's metainfo.xml has $shown, not $version"
    noted=$(sed -n 's/^## \[\([0-9][^]]*\)\] - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]$/\1/p' CHANGELOG.md | head -n 1)
    [ "$noted" = "$version" ] || echo "CHANGELOG.md has no heading '## [$version] - DATE'; the last release in it is '$noted'"
    series=${version%.*}
    grep -q "find_package(mpm $series " examples/cpp/CMakeLists.txt || echo "examples/cpp does not ask for the series $series"
    ! grep -q 'Nothing is released' README.md CONTRIBUTING.md || echo "a document says that nothing is released"
)

# The section "Unreleased" must have no entries.
changelog() {
    awk '/^## / { if (open && lines) print "CHANGELOG.md: entries are still under Unreleased"
                  open = /Unreleased/; lines = 0; next }
         open && NF { ++lines }
         END { if (open && lines) print "CHANGELOG.md: entries are still under Unreleased" }' "$1/CHANGELOG.md"
}

translations() {
    command -v lupdate6 >/dev/null || [ -e /usr/lib/qt6/bin/lupdate ] || { echo "no lupdate to check the translations" && return; }
    sh "$1/assets/translations/update.sh" --complete >/dev/null 2>&1 || echo "a text has no translation: assets/translations/update.sh --complete"
    sh "$1/assets/translations/update.sh" --check >/dev/null 2>&1 || echo "a translation lacks a placeholder: assets/translations/update.sh --check"
}

interface() {
    [ -s "$1/mpm_layer/abi/$(version_of "$1").abi.gz" ] || echo "no dump mpm_layer/abi/$(version_of "$1").abi.gz: tests/install/abi.sh --write"
}

licences() (
    cd "$1"
    grep -q 'Apache License' LICENSE || echo "LICENSE is not Apache's"
    grep -q '^License: Apache-2.0' assets/debian/copyright || echo "assets/debian/copyright has no licence"
    for model in models/zoo/*.onnx; do
        [ ! -e "$model" ] || grep -qi 'licen[cs]e\|Apache' models/zoo/README.md || echo "$model has no licence in its card"
    done
)

check() {
    problems=$(for part in clean versions changelog translations interface licences; do $part "$1"; done)
    [ -z "$problems" ] || { echo "$problems" | sed 's/^/release: /' >&2 && return 1; }
}

# expect PART TEXT COMMAND: checks that PART prints nothing in a copy of the files, and TEXT after COMMAND.
expect() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree"
    (cd "$here" && tar -c CMakeLists.txt CHANGELOG.md README.md CONTRIBUTING.md LICENSE assets examples models/zoo/README.md) |
        tar -x -C "$scratch/tree"
    (cd "$scratch/tree" && mkdir -p mpm_layer/abi && version=$(version_of .) && echo dump >"mpm_layer/abi/$version.abi.gz" &&
        printf '## [Unreleased]\n\n## [%s] - 2026-01-01\n- A.\n' "$version" >CHANGELOG.md && sed -i '/Nothing is released/d' README.md CONTRIBUTING.md)
    before=$($1 "$scratch/tree")
    [ -z "$before" ] || { echo "release: $1 prints without a reason: $before" >&2 && exit 1; }
    (cd "$scratch/tree" && eval "$3")
    $1 "$scratch/tree" | grep -q "$2" || { echo "release: $1 does not find: $3" >&2 && exit 1; }
}

self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    expect versions 'debian/changelog has 9.9.9' "sed -i '1s/(.*)/(9.9.9)/' assets/debian/changelog"
    expect versions 'metainfo.xml has 9.9.9' "sed -i 's/release version=\"[^\"]*/release version=\"9.9.9/' assets/desktop/*.xml"
    expect versions 'no heading' "sed -i 's/ - 2026-01-01//' CHANGELOG.md"
    expect versions 'ask for the series' "sed -i 's/find_package(mpm [0-9.]*/find_package(mpm 9.9/' examples/cpp/CMakeLists.txt"
    expect versions 'nothing is released' "echo 'Nothing is released yet.' >>README.md"
    expect changelog 'still under Unreleased' "sed -i 's/^## .Unreleased.$/&\n- A line./' CHANGELOG.md"
    expect interface 'no dump' 'rm mpm_layer/abi/*.abi.gz'
    expect licences 'LICENSE is not' 'echo >LICENSE'
    ! command -v git >/dev/null || expect clean uncommitted 'git init -q . && echo >new' 2>/dev/null
    echo "release: every planted problem was found"
}

case "${1:-}" in
--self-test) self_test ;;
*) check "$(cd "${1:-$here}" && pwd)" && echo "release: the tree may be released" ;;
esac
