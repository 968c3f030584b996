#!/bin/sh
# image.sh PACKAGES [SUITE] [NAME]: builds the monitor's container image with buildah. PACKAGES: a folder of MPM's packages,
# such as dist/debian12. debootstrap makes the base image. The script downloads Debian's packages and then builds without a
# network. The image is localhost/NAME (default: mpm-monitor) in the store of $MPM_BUILDAH, which is a command such as
# "buildah --root FOLDER" (default: buildah).
# Needs root, buildah, debootstrap and a package mirror ($MPM_MIRROR).
set -eu
tree=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "$1" && pwd)
suite=${2:-bookworm} image=${3:-mpm-monitor}
mirror=${MPM_MIRROR:-http://deb.debian.org/debian}
roots=${MPM_ROOTS:-$tree/build/roots}
buildah=${MPM_BUILDAH:-buildah}
for program in buildah debootstrap; do
    command -v $program >/dev/null || { echo "image: skipped: apt-get install buildah debootstrap" && exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "image: skipped: the base image needs root" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/base context=$scratch/context

mkdir -p "$roots"
[ -e "$roots/$suite-minimal.tgz" ] ||
    debootstrap --variant=minbase --make-tarball="$roots/$suite-minimal.tgz" "$suite" "$root" "$mirror" >"$scratch/log"
rm -rf "$root"
debootstrap --variant=minbase --unpack-tarball="$roots/$suite-minimal.tgz" "$suite" "$root" "$mirror" >"$scratch/log"
container=$($buildah from scratch)
$buildah add -q "$container" "$root" / >/dev/null
$buildah commit -q --rm "$container" localhost/mpm-base >/dev/null

mkdir -p "$context/archives" "$root/packages"
cp "$packages"/*.deb "$context"
cp "$packages"/mpm_*.deb "$packages"/mpm-monitor_*.deb "$root/packages"
chroot "$root" apt-get update -q >"$scratch/log"
chroot "$root" sh -c 'apt-get install -q -y --no-install-recommends --download-only /packages/*.deb' >"$scratch/log"
mv "$root"/var/cache/apt/archives/*.deb "$context/archives"
rm -rf "$root"

unshare --net $buildah build -q --format docker --isolation chroot --pull-never --build-arg BASE=localhost/mpm-base \
    --target monitor -t "localhost/$image" -f "$tree/deploy/Containerfile" "$context" >"$scratch/log" 2>&1 ||
    { tail -n 20 "$scratch/log" >&2 && exit 1; }
settings=$($buildah inspect --type image "localhost/$image")
echo "$settings" | grep -q '"Healthcheck": {' || { echo "image: no health check" >&2 && exit 1; }
echo "$settings" | grep -q '"User": "mpm"' || { echo "image: runs as root" >&2 && exit 1; }
container=$($buildah from --pull-never "localhost/$image")
unshare --net $buildah run --isolation chroot "$container" -- sh -c 'test "$(id -u)" != 0 && mpm info default' >"$scratch/info" ||
    { cat "$scratch/info" >&2 && exit 1; }
$buildah rm "$container" >/dev/null
echo "image: localhost/$image of $suite was built without a network; it runs as the user mpm"
