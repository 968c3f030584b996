#!/bin/sh
# Converts mutants of real exports (fixtures), and runs mutants of the converted models with cv::dnn.
#   tests/fuzz/mutants.sh BUILD [ROUNDS]   BUILD: a build folder, best of the preset fuzz; ROUNDS: mutants of each (1000)
# Fixtures are read from $MPM_SHARED_DIR/fixtures (default: ../shared/fixtures); exit status 77 if there are
# none. BUILD/cli/mpm or build/release/cli/mpm converts. Findings are kept in BUILD/mutants/findings; if there
# are findings, the exit status is 1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
rounds=${2:-1000}
fixtures=${MPM_SHARED_DIR:-$root/../shared}/fixtures
work=$build/mutants

if [ ! -d "$fixtures" ]; then
    echo "mutants: skipped, there are no fixtures in $fixtures"
    exit 77
fi

converter=$build/cli/mpm
[ -x "$converter" ] || converter=$root/build/release/cli/mpm
if [ ! -x "$converter" ]; then
    echo "mutants: there is no mpm to convert with: build mpm_cli in $build or build/release" >&2
    exit 2
fi

mkdir -p "$work/exports" "$work/converted"
find "$fixtures" -name '*.onnx' | sort >"$work/list"
while read -r model; do
    name=$(echo "${model#"$fixtures"/}" | tr / -)
    cp -f "$model" "$work/exports/$name"
    [ ! -s "$work/converted/$name" ] || continue
    # Converts the model in its folder, because weights may be in files beside the model.
    "$converter" convert "$model" "$work/converted/$name" >"$work/said" 2>&1 ||
        echo "mutants: $name is not converted: $(tail -n 1 "$work/said")"
done <"$work/list"

# run TARGET FOLDER
run() {
    target=$build/tests/fuzz/fuzz_$1
    if [ ! -x "$target" ]; then
        echo "mutants: $target is not built" >&2
        return 1
    fi
    echo "mutants: fuzz_$1, $rounds of each of $(find "$2" -name '*.onnx' | wc -l)"
    cd "$work"
    "$target" --rounds "$rounds" ${MPM_FUZZ_AT_MOST:+--at-most "$MPM_FUZZ_AT_MOST"} --findings findings "$2"
}
status=0
run convert "$work/exports" &
(run model "$work/converted") || status=1
wait $! || status=1
exit $status
