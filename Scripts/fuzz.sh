#!/usr/bin/env bash
# Fuzzes for so many seconds, shared by the targets, each after a planted bug that it must find. Run by `make fuzz`, which puts
# swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
export SWITCHYARD_EXTRAS=checks
build=(swift build --scratch-path .build-checks -c release)
# What is loaded by name when a mask is compiled comes with them.
for product in fuzz fuzz-expressions switchyard-patterns; do "${build[@]}" --product $product; done
folder=$("${build[@]}" --show-bin-path)
targets=(fuzz-expressions)
for target in scanner event-reader descriptor library frames answers native segment otlp-protobuf otlp-json service scrub mask transforms tcf gpp; do
    targets+=("fuzz --target $target")
done
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))

for target in "${targets[@]}"; do
    status=0
    # A name and an option, each a word.
    # shellcheck disable=SC2086
    "$folder"/$target --plant --seconds 3 >/dev/null 2>&1 || status=$?
    # Only a find counts: it may also have been called wrongly (64), or have crashed.
    if [ $status -ne 1 ]; then
        echo "switchyard: the fuzzer is not alive: $target did not find its planted bug (exit $status)" >&2
        exit 70
    fi
done
echo "switchyard: the fuzzer found every planted bug; now $seconds seconds in earnest"
# shellcheck disable=SC2086
for target in "${targets[@]}"; do "$folder"/$target --seconds "$share"; done
