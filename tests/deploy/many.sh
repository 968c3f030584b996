#!/bin/sh
# many.sh BUILD: runs eight monitors without a window, each with a profile, and a broker. Each monitor must
# have separate topics. A killed monitor must become offline, while the others continue. If Prometheus is
# installed, its labels must also tell the monitors apart, and its sums must be right.
set -eu
. "$(dirname "$0")/common.sh"
needs "mosquitto mosquitto-clients curl" mosquitto_sub curl
prepare_home
mosquitto=$(PATH="$PATH:/usr/sbin" command -v mosquitto)
cameras="1 2 3 4 5 6 7 8"
# shellcheck disable=SC2046  # a list of words
set -- $(free_ports 10)
broker=$1 url=http://127.0.0.1:$2
shift 2

# If root starts the broker, it changes to another user by default.
printf 'listener %s 127.0.0.1\nallow_anonymous true\nuser root\n' "$broker" >"$scratch/broker.conf"
serve broker "$mosquitto" -c "$scratch/broker.conf"
until_true 20 mosquitto_pub -h 127.0.0.1 -p "$broker" -t started -n || fail "the broker did not start"
serve messages mosquitto_sub -h 127.0.0.1 -p "$broker" -t 'site/#' -v
messages=$scratch/log/messages

{
    printf 'global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: mpm\n    static_configs:\n'
    for camera in $cameras; do
        eval "port=\$$camera"
        # The prefixes and labels imitate two machines.
        machine=$([ "$camera" -le 4 ] && echo north || echo south)
        printf '      - {targets: ["127.0.0.1:%s"], labels: {machine: %s, profile: cam%s}}\n' "$port" "$machine" "$camera"
        cat >"$profiles/cam$camera.watch.json" <<EOF
{"mqtt": {"on": true, "host": "127.0.0.1", "port": $broker, "prefix": "site/$machine"},
 "metrics": {"on": true, "port": $port}, "thumbnails": {"on": false}}
EOF
    done
} >"$scratch/prometheus.yml"
for camera in $cameras; do
    serve "cam$camera" nice "$build/gui/mpm-monitor" --headless --profile "cam$camera" --source demo
    eval "process$camera=$served"
done
! command -v prometheus >/dev/null || serve prometheus prometheus --config.file="$scratch/prometheus.yml" \
    --storage.tsdb.path="$scratch/data" --web.listen-address="${url#http://}"

# topic CAMERA: prints the beginning of the camera's topics.
topic() { echo "site/$([ "$1" -le 4 ] && echo north || echo south)/cam$1"; }
# states CAMERA NUMBER: whether at least NUMBER measurements of this camera arrived.
states() { [ "$(grep -c "^$(topic "$1")/demo/state {" "$messages")" -ge "$2" ]; }
last() { grep "^$(topic "$1")/availability " "$messages" | tail -n 1 | grep -q " $2$"; }
for camera in $cameras; do
    until_true 120 states "$camera" 3 || fail "camera $camera sent no measurements"
    last "$camera" online || fail "camera $camera is not online"
done
[ "$(sed -n 's,^\(site/[^/]*/[^/]*\)/.*,\1,p' "$messages" | sort -u | wc -l)" = 8 ] || fail "not eight cameras"
# Each profile has separate measurements.
[ "$(ls "$scratch"/home/.local/share/mpm/monitor/cam?.sqlite | wc -l)" = 8 ] || fail "not eight stores"

kill -KILL "$process3"
until_true 60 last 3 offline || fail "the broker did not report the camera that was killed"
for camera in 1 2 4 5 6 7 8; do
    before=$(grep -c "^$(topic "$camera")/demo/state " "$messages")
    until_true 60 states "$camera" $((before + 2)) || fail "camera $camera stopped with camera 3"
done
metrics="eight cameras"
if command -v prometheus >/dev/null; then
    until_true 60 at_least "$url" 'sum(mpm_source_up)' 7 || fail "the cameras do not add up to 7"
    until_true 60 at_least "$url" 'sum(mpm_source_up{machine="south"})' 4 || fail "the second machine does not add up to 4"
    [ "$(value "$url" 'count(up{job="mpm"} == 0)')" = 1.0 ] || fail "not one camera is missing"
    [ "$(value "$url" 'count(count by (machine, profile, class) (mpm_class_share{class="road"}))')" = 7.0 ] || fail "labels are not unique"
    metrics="$metrics and their Prometheus labels"
fi
for camera in 1 2 4 5 6 7 8; do
    eval "kill -TERM \$process$camera"
done
for camera in 1 2 4 5 6 7 8; do
    status=0
    eval "wait \$process$camera" || status=$?
    [ $status = 0 ] || fail "camera $camera ended with status $status"
    until_true 10 last "$camera" offline || fail "camera $camera did not sign off"
done
echo "many: $metrics, one broker; one was killed, seven continued and ended cleanly"
