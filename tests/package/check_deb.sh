#!/bin/sh
# check_deb.sh BUILD [KEEP]: makes the Debian packages from the folder BUILD and checks that they install every path that
# their files name. The packages are kept in the folder KEEP if it is given.
set -eu
build=$(cd "$1" && pwd)
tree=$(cd "$(dirname "$0")/../.." && pwd)
. "$tree/tests/package/pack.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
debs=${2:-$scratch/debs}
mkdir -p "$debs"
debs=$(cd "$debs" && pwd)

fail() {
    echo "check_deb: $1" >&2
    exit 1
}

pack "$build" "$debs" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
mkdir "$scratch/root"
packages="libmpm0 libmpm-dev mpm mpm-monitor mpm-models python3-mpm gstreamer1.0-mpm"
for package in $packages; do
    deb=$(find "$debs" -name "${package}_*.deb")
    [ -n "$deb" ] || fail "no package $package"
    dpkg-deb --contents "$deb" >"$scratch/$package"
    dpkg-deb --extract "$deb" "$scratch/root"
    copyright=$scratch/root/usr/share/doc/$package/copyright
    grep -qs '^License: Apache-2.0' "$copyright" || fail "$package has no copyright file"
    ! grep -vE '^[-dl]([r-][w-][x-]){3} root/root ' "$scratch/$package" || fail "$package: files that are not root's"
    ! grep -E '^.{5}w|^.{8}w' "$scratch/$package" | grep -v '^l' || fail "$package: files that others may write"
    ! grep -E ' \./(usr/local|opt|home|root|tmp|work)/' "$scratch/$package" || fail "$package: folders that are no package's"
    ! dpkg-deb --field "$deb" Depends | grep -q 'libmpm0.*libmpm0' || fail "$package: names libmpm0 twice"
done
(cd "$scratch" && cat $packages) | awk '$1 !~ /^d/ { print $6 }' | sort | uniq -d |
    grep . && fail "files that two packages hold"

# depends PACKAGE TEXT: the dependencies of PACKAGE contain TEXT.
depends() {
    dpkg-deb --field "$(find "$debs" -name "$1_*.deb")" Depends | grep -qF -- "$2"
}
# mpm must not need Qt 6. Units must be in the package of the program that they start.
depends mpm-monitor "mpm (= " || fail "mpm-monitor does not depend on mpm of the same version"
! depends mpm libqt6 || fail "mpm depends on Qt 6"
for file in bin/mpm-monitor lib/systemd/system/mpm-monitor@.service lib/systemd/user/mpm-monitor@.service \
    share/applications/mpm-monitor.desktop; do
    grep -q " \./usr/$file$" "$scratch/mpm-monitor" || fail "mpm-monitor lacks /usr/$file"
done

# asks SCRIPT TEXT ARGUMENT...: runs a script of the package mpm-monitor as on a system with systemd. The
# script must run a command with TEXT. If TEXT is empty, the script must run no command of systemd.
dpkg-deb --control "$(find "$debs" -name "mpm-monitor_*.deb")" "$scratch/control"
mkdir "$scratch/stubs"
for command in systemctl deb-systemd-invoke; do
    printf '#!/bin/sh\necho "%s $*" >>"%s"\n' $command "$scratch/asked" >"$scratch/stubs/$command"
done
chmod +x "$scratch/stubs"/*
asks() {
    script=$1 text=$2
    shift 2
    : >"$scratch/asked"
    sed "s,/run/systemd/system,$scratch," "$scratch/control/$script" |
        PATH="$scratch/stubs:$PATH" sh -s -- "$@" || fail "mpm-monitor: $script fails"
    if [ -n "$text" ]; then
        grep -qF -- "$text" "$scratch/asked" || fail "mpm-monitor: $script $* does not ask for: $text"
    else
        [ ! -s "$scratch/asked" ] || fail "mpm-monitor: $script $* asks for: $(cat "$scratch/asked")"
    fi
}
asks postinst "deb-systemd-invoke restart mpm-monitor@*.service" configure 0.1.0
asks postinst "systemctl --system daemon-reload" configure ""
asks prerm "deb-systemd-invoke stop mpm-monitor@*.service" remove
asks prerm "" upgrade 0.1.0
asks postrm "systemctl --system daemon-reload" remove

# documented PAGE: the manual page must have every option in the output of --help, which is the input.
documented() {
    zcat "$scratch/root/usr/share/man/man1/$1.1.gz" | tr -d '\\' >"$scratch/manual"
    options=0
    for option in $(sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p'); do
        grep -q -- "fB$option" "$scratch/manual" || fail "$1(1) lacks $option"
        options=$((options + 1))
    done
    [ $options -ge 10 ] || fail "$1 --help lists hardly any options"
}
QT_QPA_PLATFORM=offscreen "$build/gui/mpm-monitor" --help >"$scratch/help"
documented mpm-monitor <"$scratch/help"
for command in train eval export import mean policy scene; do "$build/models/torch/mpm-models" $command --help; done >"$scratch/help"
documented mpm-models <"$scratch/help"

# The bill of materials must have the digest of every package, and must describe every element that it names.
/usr/bin/python3 - "$debs" $packages <<'EOF' || fail "the bill of materials is not right"
import glob, hashlib, json, sys
folder, names = sys.argv[1], set(sys.argv[2:])
bill = json.load(open(glob.glob(folder + "/*.spdx.json")[0]))
described = {package["SPDXID"]: package for package in bill["packages"]}
assert len(described) == len(bill["packages"]) > 20, "a package is described twice, or hardly any"
for package in bill["packages"]:
    if package["name"] in names:
        names.remove(package["name"])
        content = open(folder + "/" + package["packageFileName"], "rb").read()
        assert package["checksums"][0]["checksumValue"] == hashlib.sha256(content).hexdigest(), package["name"]
assert not names, names
for relation in bill["relationships"]:
    assert relation["relatedSpdxElement"] in described, relation
EOF

# names FILE PATH: FILE contains PATH, so a package must install PATH.
names() {
    [ -e "$scratch/root$2" ] || fail "$1 names $2, which no package installs"
    named=$((named + 1))
}
named=0
cd "$scratch/root"
units=$(find . -name '*.service' -o -name '*.socket' -o -name '*.timer')
[ -n "$units" ] || fail "no systemd unit"
for unit in $units; do
    for path in $(sed -n 's/^Exec[A-Za-z]*=[-@:+!]*\([^ ]*\).*/\1/p' "$unit"); do names "$unit" "$path"; done
    for page in $(sed -n 's/^Documentation=//p' "$unit" | tr ' ' '\n' | sed -n 's/^man:\([^(]*\)(\(.\))$/\1.\2/p'); do
        names "$unit" "/usr/share/man/man${page##*.}/$page.gz"
    done
done
for entry in usr/share/applications/*.desktop; do
    program=$(sed -n 's/^Exec=\([^ ]*\).*/\1/p' "$entry")
    names "$entry" "/usr/bin/${program##*/}"
    names "$entry" "/usr/share/icons/hicolor/scalable/apps/$(sed -n 's/^Icon=//p' "$entry").svg"
done
for link in $(find . -type l); do [ -e "$link" ] || fail "$link points to nothing"; done
[ -e usr/lib/python3/dist-packages/mpm/__init__.py ] || fail "python3-mpm has no package mpm"
[ -e "$(echo usr/lib/*/gstreamer-1.0/libgstmpm.so)" ] || fail "gstreamer1.0-mpm has no plugin"
# Debian's own checks must report no error.
if command -v lintian >/dev/null; then
    lintian --fail-on error --tag-display-limit 0 "$debs"/*.deb >"$scratch/lintian" 2>&1 ||
        fail "lintian: $(grep '^E:' "$scratch/lintian")"
fi
# No file may contain paths below /usr/local, where no package installs files.
if grep -rlaE '/usr/local/(bin|lib|share)/[a-z-]*mpm' . >"$scratch/local"; then fail "names /usr/local: $(cat "$scratch/local")"; fi
echo "check_deb: seven packages; $named paths that their files name are installed by them"
