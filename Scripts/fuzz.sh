#!/usr/bin/env bash
# Fuzzes for so many seconds, after a planted bug that the fuzzer must find. Run by `make fuzz`, which puts swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
swift build --package-path Fuzz -c release
fuzz=$(swift build --package-path Fuzz -c release --show-bin-path)/fuzz

status=0
"$fuzz" --plant --seconds 20 >/dev/null 2>&1 || status=$?
# 64 is a misuse of its command line: it did not look at all.
if [ $status -eq 0 ] || [ $status -eq 64 ]; then
    echo "switchyard: the fuzzer is not alive: it did not find the planted bug (exit $status)" >&2
    exit 70
fi
echo "switchyard: the fuzzer found the planted bug; now $seconds seconds in earnest"
"$fuzz" --seconds "$seconds"
