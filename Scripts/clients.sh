#!/usr/bin/env bash
# Lets the clients of Segment, RudderStack and OpenTelemetry from PyPI send to a running router, also with faults, and compares the output
# with what they were told to send, and to one whose vendor hangs. First a planted loss must be found in each. The clients are installed in .build/clients-venv, and only this
# installation needs the network. Run by `make clients`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

clients=(segment-analytics-python==2.4.0 rudder-sdk-python==2.1.9 opentelemetry-exporter-otlp-proto-http==1.45.2)
environment=.build/clients-venv

say() { echo "switchyard: $*" >&2; }

folder=$(mktemp -d)
process=
end() {
    if [ -n "$process" ]; then kill "$process" 2>/dev/null && wait "$process" || true; fi
    rm -rf "$folder"
}
trap end EXIT

if [ "$(cat "$environment/installed" 2>/dev/null)" != "${clients[*]}" ]; then
    say "installing ${clients[*]} from PyPI in $environment"
    rm -rf "$environment"
    mkdir -p .build
    if ! { python3 -m venv "$environment" \
        && "$environment/bin/pip" install --quiet --disable-pip-version-check --retries 3 "${clients[@]}"; } >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        rm -rf "$environment"
        say "the clients could not be installed; the installation needs python3 with venv, and access to PyPI"
        exit 69
    fi
    echo "${clients[*]}" >"$environment/installed"
fi

router=$(swift build --show-bin-path)/switchyard
cat >"$folder/routes.json" <<'END'
{ "sources": { "http": { "plugin": "http", "listen": "127.0.0.1:0", "keys": { "clients": { "secret": "${env:CLIENTS_KEY}" } } } },
  "providers": { "out": { "plugin": "file", "path": "out.ndjson", "delivery": { "batch": { "wait": "1ms" } } } },
  "routes": [ { "to": ["out"] } ] }
END
export CLIENTS_KEY=a-key-for-the-clients-of-this-check
(cd "$folder" && touch out.ndjson errors && exec "$router" run -c routes.json --state "$folder/state" 2>errors) &
process=$!
until port=$(sed -n 's/.*listening at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$folder/errors" 2>/dev/null) && [ -n "$port" ]; do
    kill -0 "$process" || { cat "$folder/errors" >&2; exit 70; }
done
drive() { "$environment/bin/python" Tests/Clients/drive.py "http://127.0.0.1:$port" "$folder/out.ndjson" "$CLIENTS_KEY" "$@"; }

status=0
drive --plant >"$folder/planted" 2>&1 || status=$?
if [ $status -ne 1 ] || grep -q 'as it should' "$folder/planted" || ! grep -q 'lost: ' "$folder/planted"; then
    cat "$folder/planted" >&2
    say "the planted loss was not found: this check does not work (exit $status)"
    exit 70
fi
drive || { cat "$folder/errors" >&2; exit 1; }

overload() {
    rm -rf "$folder/overload" && mkdir "$folder/overload"
    "$environment/bin/python" Tests/Clients/overload.py "$router" "$folder/overload" "$@"
}
status=0
overload --plant >"$folder/planted" 2>&1 || status=$?
if [ $status -ne 1 ] || ! grep -q ' 1 of [0-9]* events were lost' "$folder/planted" || ! grep -q ' 1 of [0-9]* events came more than once' "$folder/planted"; then
    cat "$folder/planted" >&2
    say "the planted loss and repetition beside a vendor that hangs were not found: this check does not work (exit $status)"
    exit 70
fi
overload
say "the events of every client arrived"
