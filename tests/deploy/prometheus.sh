#!/bin/sh
# prometheus.sh BUILD: runs Debian's Prometheus and a monitor without a window, with the settings of deploy/,
# on free ports. Every query of the Grafana dashboard must give data.
set -eu
. "$(dirname "$0")/common.sh"
needs "prometheus curl" prometheus promtool curl
prepare_home
ports=$(free_ports 2)
metrics=${ports% *} url=http://127.0.0.1:${ports#* }

promtool check config --syntax-only "$tree/deploy/prometheus/mpm.yml" >"$scratch/log/promtool" || fail "mpm.yml is not valid"
# Changes the port, turns off the broker, and adds a region, objects and an alert, which have separate metrics.
/usr/bin/python3 - "$tree/deploy/monitor/camera.watch.json" "$profiles/camera.watch.json" "$metrics" <<'EOF'
import json, sys
watch = json.load(open(sys.argv[1]))
watch["mqtt"]["on"] = False
watch["metrics"]["port"] = int(sys.argv[3])
watch["sources"] = {"env:CAMERA": {"objects": ["car", "pedestrian"], "regions": [{"name": "left", "outline": [[0, 0], [0.5, 0], [0.5, 1], [0, 1]]}]}}
watch["alerts"] = [{"name": "busy", "of": "tokens", "above": True, "threshold": 1, "hold_s": 0, "cool_down_s": 1}]
json.dump(watch, open(sys.argv[2], "w"))
EOF
sed "s/monitor:9464/127.0.0.1:$metrics/; s/scrape_interval: .*/scrape_interval: 1s/" "$tree/deploy/prometheus/mpm.yml" >"$scratch/mpm.yml"
export CAMERA=demo
serve monitor "$build/gui/mpm-monitor" --headless --profile camera --source env:CAMERA
monitor=$served
serve prometheus prometheus --config.file="$scratch/mpm.yml" --storage.tsdb.path="$scratch/data" \
    --web.listen-address="${url#http://}"

until_true 60 at_least "$url" 'up{job="mpm",machine="compose",profile="camera"}' 1 || fail "the monitor was not read"
until_true 60 at_least "$url" 'mpm_frames_analysed_total{profile="camera"}' 10 || fail "no frames were counted"
until_true 60 at_least "$url" 'rate(mpm_frames_analysed_total[1m])' 0.1 || fail "the count does not grow"
at_least "$url" 'mpm_tokens_in - mpm_tokens_kept' 1 || fail "nothing merged"
until_true 60 at_least "$url" 'sum(mpm_alerts_total{rule="busy"})' 1 || fail "the alert was not counted"

/usr/bin/python3 -c 'import json, sys
for panel in json.load(open(sys.argv[1]))["panels"]:
    for target in panel["targets"]:
        print(target["expr"].replace("$machine", ".*").replace("$profile", ".*"))' "$tree/deploy/grafana/mpm.json" >"$scratch/queries"
count=0
while read -r query; do
    # These metrics exist only with reuse, or while the window compares. So the query must be valid, but may
    # give no data.
    case $query in *mpm_token_age_frames* | *mpm_network_saved_seconds*)
        curl -sfG "$url/api/v1/query" --data-urlencode "query=$query" >/dev/null || fail "not a query: $query"
        continue ;;
    esac
    until_true 30 value "$url" "$query" || fail "no data for $query"
    count=$((count + 1))
done <"$scratch/queries"
[ $count -ge 10 ] || fail "the dashboard has only $count queries"
# Prometheus must notice that the monitor ended.
kill -TERM "$monitor"
until_true 30 value "$url" 'up{job="mpm"} == 0' || fail "the end of the monitor was not noticed"
echo "prometheus: a monitor was read, $count queries of the dashboard have data"
