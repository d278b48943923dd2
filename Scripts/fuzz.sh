#!/usr/bin/env bash
# Fuzzes for so many seconds, shared by the targets, each after a planted bug that it must find. Run by `make fuzz`, which puts
# swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
swift build --package-path Fuzz -c release
fuzz=$(swift build --package-path Fuzz -c release --show-bin-path)/fuzz
targets=(scanner descriptor frames answers)
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))

for target in "${targets[@]}"; do
    status=0
    "$fuzz" --target "$target" --plant --seconds 3 >/dev/null 2>&1 || status=$?
    # Only a find counts: it may also have been called wrongly (64), or have crashed.
    if [ $status -ne 1 ]; then
        echo "switchyard: the fuzzer is not alive: it did not find the bug planted in $target (exit $status)" >&2
        exit 70
    fi
done
echo "switchyard: the fuzzer found every planted bug; now $seconds seconds in earnest"
for target in "${targets[@]}"; do "$fuzz" --target "$target" --seconds "$share"; done
