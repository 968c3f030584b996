# The tests of this folder source this file. It makes a scratch folder, starts servers that end with the test,
# and waits.
build=$(cd "$1" && pwd)
tree=$(cd "$(dirname "$0")/../.." && pwd)
name=$(basename "$0" .sh)
scratch=$(mktemp -d "/tmp/mpm-$name.XXXXXX")
mkdir "$scratch/log"
servers=
stop() {
    for server in $servers; do kill "$server" 2>/dev/null || true; done
    wait
    rm -rf "$scratch"
}
trap stop EXIT
fail() {
    echo "$name: $1" >&2
    tail -n 15 "$scratch"/log/* >&2 2>/dev/null || true
    exit 1
}
# needs PACKAGES PROGRAM...: skips the test if a program is missing. PACKAGES have the programs.
needs() {
    packages=$1
    shift
    for program; do
        command -v "$program" >/dev/null || { echo "$name: skipped: apt-get install $packages" && exit 77; }
    done
}
# serve LOG COMMAND...: starts a server, writes the output to log/LOG, and sets $served to the process id.
serve() {
    log=$1
    shift
    "$@" >"$scratch/log/$log" 2>&1 &
    served=$!
    servers="$servers $served"
}
# until_true SECONDS COMMAND...: repeats the command until it succeeds; fails after this time.
until_true() {
    left=$(($1 * 5))
    shift
    while ! "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.2
    done
}
# free_ports N: prints N ports that are free now.
free_ports() {
    /usr/bin/python3 -c 'import socket, sys
sockets = [socket.create_server(("", 0)) for i in range(int(sys.argv[1]))]
print(*[s.getsockname()[1] for s in sockets])' "$1"
}
# prepare_home: gives monitors of this test separate settings and measurements, and no display or bus.
prepare_home() {
    mkdir -m 700 "$scratch/home" "$scratch/run"
    mkdir -p "$scratch/home/.config/mpm/monitor"
    export HOME="$scratch/home" XDG_RUNTIME_DIR="$scratch/run"
    unset XDG_CONFIG_HOME XDG_DATA_HOME DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS
    profiles="$scratch/home/.config/mpm/monitor"
}
# value URL QUERY: prints the sum of the values that Prometheus returns; fails if there are none.
value() {
    curl -sfG "$1/api/v1/query" --data-urlencode "query=$2" | /usr/bin/python3 -c 'import json, sys
reply = json.load(sys.stdin)
assert reply["status"] == "success", reply
result = reply["data"]["result"]
print(sum(float(row["value"][1]) for row in result)) if result else sys.exit("no data")'
}
# at_least URL QUERY NUMBER
at_least() { value "$1" "$2" | awk -v least="$3" '{ reached = $1 >= least } END { exit !reached }'; }
