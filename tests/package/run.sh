#!/bin/sh
# Installs the Debian packages of a build folder into a minimal system. There, every program must start,
# systemd must accept the unit, and removing the packages must leave no files.
#
#   tests/package/run.sh [BUILD] [SUITE]      default: build/release bookworm
#
# BUILD must have been built on SUITE, or is a folder with packages of such a build (check_deb.sh BUILD
# FOLDER). Needs root, debootstrap and a package mirror. The system is in build/roots or $MPM_ROOTS during the
# run, and is kept there as an archive.
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$tree/build/release}" && pwd)
suite=${2:-bookworm}
roots=${MPM_ROOTS:-$tree/build/roots}
mirror=${MPM_MIRROR:-http://deb.debian.org/debian}
if [ -z "${MPM_PACKAGE_INSIDE:-}" ]; then
    MPM_PACKAGE_INSIDE=1 exec unshare --mount sh "$0" "$@"
fi

mkdir -p "$roots"
tarball=$roots/$suite-minimal.tgz
root=$roots/$suite-minimal
rm -rf "$root"
[ -e "$tarball" ] || debootstrap --variant=minbase --make-tarball="$tarball" "$suite" "$root" "$mirror"
rm -rf "$root"
debootstrap --variant=minbase --unpack-tarball="$tarball" "$suite" "$root" "$mirror" >"$roots/log"
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
mount -t proc proc "$root/proc"

in_root() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive QT_QPA_PLATFORM=offscreen "$@"
}

if ls "$build"/*.deb >/dev/null 2>&1; then
    mkdir "$root/debs"
    cp "$build"/*.deb "$root/debs"
else
    sh "$tree/tests/package/check_deb.sh" "$build" "$root/debs"
fi
in_root apt-get -q update
in_root sh -c 'apt-get -q -y --no-install-recommends install /debs/*.deb systemd systemd-sysv'
for program in mpm mpm-monitor; do
    in_root $program --version
done
in_root mpm info default
in_root mpm-models scene /tmp/street --frames 1
in_root timeout 300 mpm run default demo --duration 2 --out /tmp/out >/dev/null
in_root apt-get -q -y --no-install-recommends install python3-opencv gstreamer1.0-tools gstreamer1.0-plugins-base xvfb xauth
in_root sh -c '! command -v c++ && ! command -v gcc'
in_root python3 -c 'import cv2, mpm, numpy
model = mpm.Model()
print(mpm.__version__, model(numpy.zeros((48, 64, 3), numpy.uint8)).tokens)
mpm.readNet(model.path)'
in_root gst-inspect-1.0 mpmsegment >/dev/null
in_root gst-launch-1.0 -q videotestsrc num-buffers=1 ! videoconvert ! mpmsegment ! fakesink
in_root env -u QT_QPA_PLATFORM HOME=/tmp timeout 120 xvfb-run -a mpm-monitor --source demo --screenshot /tmp/window.png --after 3
in_root test -s /tmp/window.png
in_root env XDG_RUNTIME_DIR=/run systemd-analyze --user --man=no verify /usr/lib/systemd/user/mpm-monitor@.service
in_root systemd-analyze --man=no verify /usr/lib/systemd/system/mpm-monitor@.service
in_root sh -c '! ldd /usr/bin/mpm /usr/bin/mpm-monitor /usr/lib/*/libmpm.so.0 | grep "not found"'
in_root apt-get -q -y purge python3-mpm gstreamer1.0-mpm mpm-monitor mpm-models mpm libmpm-dev libmpm0
left=$(in_root sh -c 'find / -xdev \( -name "*mpm*" -o -path "*/share/mpm/*" \) ! -path "/proc/*" ! -path "/debs*" ! -path "*/python*" \
    ! -path "/var/lib/dpkg/*" ! -path "/tmp/*" -print')
[ -z "$left" ] || { echo "package: left behind: $left" >&2; exit 1; }
echo "package: on $suite the packages install, start and are removed completely"
