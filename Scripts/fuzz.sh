#!/usr/bin/env bash
# Fuzzes for so many seconds, after a planted bug that the fuzzer must find. Run by `make fuzz`, which puts swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
swift build --package-path Fuzz -c release
folder=$(swift build --package-path Fuzz -c release --show-bin-path)

# alive PROGRAM: whether it finds the bug that is planted in it.
alive() {
    local status=0
    "$1" --plant --seconds 20 >/dev/null 2>&1 || status=$?
    # 64 is a misuse of its command line: it did not look at all.
    if [ $status -eq 0 ] || [ $status -eq 64 ]; then
        echo "switchyard: the fuzzer ${1##*/} is not alive: it did not find the planted bug (exit $status)" >&2
        exit 70
    fi
}

for fuzz in "$folder/fuzz" "$folder/fuzz-expressions"; do
    alive "$fuzz"
    echo "switchyard: ${fuzz##*/} found the planted bug; now $seconds seconds in earnest"
    "$fuzz" --seconds "$seconds"
done
