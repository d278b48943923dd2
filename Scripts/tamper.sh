#!/usr/bin/env bash
# Changes every byte of every file of an audit trail of 1,000 entries, one at a time, and cuts every file at every length: the verification
# must find each. First it must find that a planted change is not found. Then a trail of a router is damaged in 1 of 199 ways for the script.
# Run by `make tamper`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

export SWITCHYARD_EXTRAS=checks
build=(swift build --scratch-path .build-checks -c release)
"${build[@]}" --product fuzz
folder=$("${build[@]}" --show-bin-path)
if "$folder/fuzz" --target every-byte --plant --seconds 3600 >/dev/null 2>&1; then
    echo "switchyard: the check does not work: a change that was hidden from the verification did not count" >&2
    exit 70
fi
"$folder/fuzz" --target every-byte --seconds 3600

# The script, on a trail of about 1,000 entries that a router wrote.
env -u SWITCHYARD_EXTRAS swift build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/routes.json" <<'END'
{ "keys": { "ids": "an id secret of enough bytes", "audit": "an audit secret of enough bytes" },
  "audit": { "key": "audit" },
  "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] }, "default": "all" },
  "sources": { "in": { "plugin": "stdin", "consent": "write" } },
  "providers": { "out": { "plugin": "file", "path": "/dev/null" } },
  "routes": [ { "to": ["out"] } ] }
END
router=(.build/debug/switchyard)
place=(--config "$work/routes.json" --state "$work/state")
{
    for number in $(seq 996); do echo "{\"userId\":\"u$number\",\"type\":\"consent\",\"consent\":{\"level\":\"all\"}}"; done
    echo '{"userId":"nobody","event":"x"}'
} | "${router[@]}" run "${place[@]}"
key=$("${router[@]}" audit key "${place[@]}")
if Scripts/tamper.py --key "$key" --every 1999 --planted "$work/state/audit" >/dev/null; then
    echo "switchyard: the check does not work: a bundle that the script did not see did not count" >&2
    exit 70
fi
Scripts/tamper.py --key "$key" --every 199 "$work/state/audit"
