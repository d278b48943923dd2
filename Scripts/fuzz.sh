#!/usr/bin/env bash
# Fuzzes for so many seconds, after a planted bug that the fuzzer must find. Run by `make fuzz`, which puts swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
swift build --package-path Fuzz -c release
fuzz=$(swift build --package-path Fuzz -c release --show-bin-path)/fuzz

if "$fuzz" --plant --seconds 20 >/dev/null 2>&1; then
    echo "switchyard: the fuzzer is not alive: it did not find the planted bug" >&2
    exit 70
fi
echo "switchyard: the fuzzer found the planted bug; now $seconds seconds in earnest"
"$fuzz" --seconds "$seconds"
