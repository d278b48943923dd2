#!/usr/bin/env bash
# Lets Prometheus' own promtool read what a running router counts. Run by `make metrics`, which puts swift on PATH.
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
# It must be able to say no.
if sed 's/^# TYPE switchyard_info gauge/# TYPE switchyard_info nonsense/' "$folder/metrics" | promtool check metrics >/dev/null 2>&1; then
    echo "switchyard: promtool takes anything: this check is not alive" >&2
    exit 1
fi
echo "switchyard: promtool reads the $(grep -c '^# TYPE' "$folder/metrics") metrics"
