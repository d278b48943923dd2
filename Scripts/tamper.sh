#!/usr/bin/env bash
# Changes every byte of every file of an audit trail of 1,000 entries, one at a time, and cuts every file at every length: the verification
# must find each. First it must find that a planted change is not found. Run by `make tamper`, which puts swift on PATH.
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
