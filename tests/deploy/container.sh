#!/bin/sh
# container.sh BUILD: builds the images of deploy/Containerfile with buildah from the packages of BUILD, and
# runs each image: the monitor must publish measurements to the broker, and Prometheus must read the monitor.
# debootstrap makes the base image, so no registry is needed. Needs root and a package mirror.
set -eu
. "$(dirname "$0")/common.sh"
needs "buildah debootstrap curl mosquitto-clients" buildah debootstrap curl mosquitto_sub
[ "$(id -u)" = 0 ] || { echo "container: skipped: the base image needs root" && exit 77; }
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
roots=${MPM_ROOTS:-$tree/build/roots}
mirror=${MPM_MIRROR:-http://deb.debian.org/debian}

# Uses a separate store of images that needs no support by the kernel. chroot works even if namespaces are not
# allowed. The servers share the network of this machine, so the test chooses free ports.
stored="buildah --root $scratch/store --runroot $scratch/state --storage-driver vfs"
mkdir -p "$roots"
[ -e "$roots/$suite-minimal.tgz" ] ||
    debootstrap --variant=minbase --make-tarball="$roots/$suite-minimal.tgz" "$suite" "$scratch/base" "$mirror" >"$scratch/log/base"
rm -rf "$scratch/base"
debootstrap --variant=minbase --unpack-tarball="$roots/$suite-minimal.tgz" "$suite" "$scratch/base" "$mirror" >"$scratch/log/base"
container=$($stored from scratch)
$stored add -q "$container" "$scratch/base" / >/dev/null
$stored commit -q --rm "$container" localhost/base >/dev/null
rm -rf "$scratch/base"

mkdir "$scratch/packages"
sh "$tree/tests/package/check_deb.sh" "$build" "$scratch/packages" >"$scratch/log/packages"
for target in monitor broker prometheus; do
    $stored build -q --isolation chroot --pull-never --build-arg BASE=localhost/base --target $target -t localhost/$target \
        -f "$tree/deploy/Containerfile" "$scratch/packages" >"$scratch/log/$target" 2>&1 || fail "the image $target was not built"
done

# shellcheck disable=SC2046  # a list of words
set -- $(free_ports 3)
mkdir "$scratch/settings"
sed "s/\"host\": \"broker\", \"port\": 1883/\"host\": \"127.0.0.1\", \"port\": $1/; s/9464/$2/" \
    "$tree/deploy/monitor/camera.watch.json" >"$scratch/settings/camera.watch.json"
sed "s/^listener .*/listener $1 127.0.0.1/" "$tree/deploy/mosquitto/mpm.conf" >"$scratch/settings/mpm.conf"
sed "s/monitor:9464/127.0.0.1:$2/; s/scrape_interval: .*/scrape_interval: 1s/" "$tree/deploy/prometheus/mpm.yml" >"$scratch/settings/mpm.yml"
chmod -R a+rX "$scratch/settings" && chmod 711 "$scratch"
start() {  # IMAGE MOUNT COMMAND...: runs the command with MOUNT, a file or folder of settings
    image=$1 mount=$2
    shift 2
    container=$($stored from --pull-never "localhost/$image")
    serve "run-$image" $stored run --isolation chroot \
        --env CAMERA=demo --volume "$mount:ro" "$container" -- "$@"
}
start broker "$scratch/settings/mpm.conf:/etc/mosquitto/mpm.conf" mosquitto -c /etc/mosquitto/mpm.conf
until_true 60 mosquitto_pub -h 127.0.0.1 -p "$1" -t started -n || fail "the broker did not start"
start monitor "$scratch/settings:/etc/mpm/monitor" mpm-monitor --headless --profile camera --source env:CAMERA
start prometheus "$scratch/settings/mpm.yml:/etc/prometheus/mpm.yml" prometheus --config.file=/etc/prometheus/mpm.yml \
    --storage.tsdb.path=/var/lib/prometheus/metrics2 --web.listen-address="127.0.0.1:$3"
until_true 120 at_least "http://127.0.0.1:$3" 'mpm_frames_analysed_total{profile="camera"}' 5 || fail "Prometheus counts no frames"
# The health check must pass at the monitor's port, and fail at a port without a monitor.
/usr/bin/python3 - "$tree/deploy/Containerfile" >"$scratch/health" <<'END'
import json, re, sys
text = open(sys.argv[1]).read().replace("\\\n", "")
print(json.loads(re.search(r"HEALTHCHECK.* CMD (\[.*\])", text)[1])[2])
END
bash -c "$(sed "s/9464/$2/" "$scratch/health")" || fail "the monitor is not healthy"
! bash -c "$(sed "s/9464/1/" "$scratch/health")" 2>/dev/null || fail "the health check passes without a monitor"
timeout 60 mosquitto_sub -h 127.0.0.1 -p "$1" -t mpm/camera/env_camera/state -C 1 >"$scratch/state.json" || fail "no measurement by MQTT"
grep -q '"tokens_kept":' "$scratch/state.json" || fail "not a measurement: $(cat "$scratch/state.json")"
echo "container: three images of $suite's packages were built; monitor, broker and Prometheus work together"
