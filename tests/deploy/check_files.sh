#!/bin/sh
# check_files.sh: checks that the files of deploy/ are well-formed, and that the dashboard uses all metrics of
# the monitor and no others. The long tests in this folder run the files.
set -eu
cd "$(dirname "$0")/../.."
for script in deploy/slurm/*.sbatch; do sh -n "$script"; done
/usr/bin/python3 - <<'EOF'
import glob, json, re, sys

for path in glob.glob("deploy/*/*.json"):
    json.load(open(path))
endpoint = open("gui/services/metrics_endpoint.cpp").read() + open("pipeline/store/reading.cpp").read()
published = set(re.findall(r'"(mpm_[a-z_]+)"', endpoint))
dashboard = json.load(open("deploy/grafana/mpm.json"))
used = set()
for panel in dashboard["panels"]:
    for target in panel["targets"]:
        used |= set(re.findall(r"\bmpm_[a-z_]+", target["expr"]))
used = {re.sub("_bucket$", "", name) for name in used}
if len(published) < 10 or not used <= published:
    sys.exit(f"check_files: not published: {sorted(used - published)}")
unseen = published - used
if unseen:
    sys.exit(f"check_files: the dashboard does not show {sorted(unseen)}")
spots = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in dashboard["panels"]]
if len(set(spots)) != len(spots):
    sys.exit("check_files: two panels of the dashboard are at the same place")
# Every service of compose.yml must be a target of the Containerfile, and every mounted file must exist.
compose = open("deploy/compose.yml").read()
targets = set(re.findall(r"^FROM .* AS (\w+)$", open("deploy/Containerfile").read(), re.M))
if set(re.findall(r"target: (\w+)", compose)) != targets:
    sys.exit(f"check_files: compose.yml does not use the targets {sorted(targets)}")
# The packages are built for one release of Debian. BASE selects an image of this release for all services.
base = re.search(r"^ARG BASE=(\S+)$", open("deploy/Containerfile").read(), re.M).group(1)
if 'args: &base\n        BASE: "${BASE:-%s}"' % base not in compose or compose.count("args: *base") != len(targets) - 1:
    sys.exit("check_files: compose.yml does not pass BASE to every image")
missing = [path for path in re.findall(r"- \./(\S+?):", compose) if not glob.glob("deploy/" + path)]
if missing:
    sys.exit(f"check_files: compose.yml mounts {missing}")
print(f"check_files: {len(used)} metrics in {len(dashboard['panels'])} panels, {len(targets)} images")
EOF
