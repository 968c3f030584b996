#!/bin/sh
# camera.sh RTSP_SERVER: runs the element with an RTSP stream of ten frames a second, for $MPM_SOAK_MINUTES
# (default 1). After the first fifth of the time, the process must grow by less than 5 MiB. Prints frames,
# late frames and memory.
set -eu
minutes=${MPM_SOAK_MINUTES:-1}
scratch=$(mktemp -d)
server='' player=''
trap 'kill $player $server 2>/dev/null || true; rm -rf "$scratch"' EXIT
port=$((20000 + $$ % 20000))
"$1" $port 10 640 480 >"$scratch/server" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ! grep -q ready "$scratch/server" || break
    sleep 0.5
done
gst-launch-1.0 -m rtspsrc location=rtsp://127.0.0.1:$port/camera latency=200 ! rtpjpegdepay ! jpegdec ! videoconvert ! \
    mpmsegment model=default precision=auto name=segment ! fakesink sync=true >"$scratch/messages" 2>&1 &
player=$!

resident() {
    awk '/^VmRSS/ { print $2 }' "/proc/$player/status"
}

sleep $((minutes * 12))
before=$(resident)
sleep $((minutes * 48))
kill -0 $player 2>/dev/null || { cat "$scratch/messages" >&2; echo "camera: the pipeline ended" >&2; exit 1; }
after=$(resident)
! grep -q '(error)' "$scratch/messages" || { cat "$scratch/messages" >&2; exit 1; }
kill -INT $player
wait $player || true
late=$(grep -c '(qos)' "$scratch/messages" || true)
echo "camera: $minutes minutes, $late messages about late frames, $((before / 1024)) MiB after a fifth of it, $((after - before)) kB more at the end"
[ $((after - before)) -lt 5120 ] || { echo "camera: it grew by 5 MiB or more" >&2; exit 1; }
