#!/usr/bin/env bash
# Checks the metrics of a running router with promtool from Prometheus. Run by `make metrics`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

router=$(swift build --show-bin-path)/switchyard
folder=$(mktemp -d)
end() {
    exec 3>&-
    kill "$process" 2>/dev/null && wait "$process" || true
    rm -rf "$folder"
}
trap end EXIT
mkfifo "$folder/input"
cat >"$folder/routes.json" <<'END'
{ "sources": { "http": { "plugin": "http", "listen": "127.0.0.1:0" }, "input": { "plugin": "stdin" } },
  "providers": { "out": { "plugin": "file", "path": "out.ndjson" }, "a \"quoted\" name": { "plugin": "noop" } },
  "routes": [ { "to": ["out", "a \"quoted\" name"] }, { "name": "none", "events": ["x"], "to": ["out"] } ] }
END
(cd "$folder" && exec "$router" run --state "$folder/state" <input 2>errors) &
process=$!
exec 3>"$folder/input"
printf '{"n":1}\nbad\n{"n":2}\n' >&3
scrape() {
    python3 - "$folder/state/control.sock" <<'END'
import http.client, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("GET", "/metrics")
print(connection.getresponse().read().decode(), end="")
END
}
until scrape 2>/dev/null | grep -q '^switchyard_source_events_total{source="input"} 2$'; do
    kill -0 "$process" || { cat "$folder/errors" >&2; exit 1; }
done
scrape >"$folder/metrics"
promtool check metrics <"$folder/metrics"
# promtool must refuse a planted fault.
if sed 's/^# TYPE switchyard_info gauge/# TYPE switchyard_info nonsense/' "$folder/metrics" | promtool check metrics >/dev/null 2>&1; then
    echo "switchyard: promtool accepts invalid metrics: this check does not work" >&2
    exit 1
fi
echo "switchyard: promtool accepts the $(grep -c '^# TYPE' "$folder/metrics") metrics"
