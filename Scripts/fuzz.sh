#!/usr/bin/env bash
# Fuzzes for the given number of seconds, which the targets share. First each target must find a planted bug. Run by `make fuzz`, which puts
# swift on PATH.
#
# usage: Scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: Scripts/fuzz.sh SECONDS}
export SWITCHYARD_EXTRAS=checks
build=(swift build --scratch-path .build-checks -c release)
# switchyard-patterns is built too, because compiling a mask loads it by name.
for product in fuzz fuzz-expressions switchyard-patterns; do "${build[@]}" --product $product; done
folder=$("${build[@]}" --show-bin-path)
targets=(fuzz-expressions)
for target in scanner event-reader descriptor library frames answers replies native segment otlp-protobuf otlp-json service http-head http-chunks scrub mask transforms tcf gpp trail; do
    targets+=("fuzz --target $target")
done
for vendor in amplitude ga4 mixpanel otlp-json otlp-protobuf posthog rudderstack segment sentry; do
    targets+=("fuzz --target $vendor-map" "fuzz --target $vendor-judge")
done
share=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))

for target in "${targets[@]}"; do
    status=0
    # A target can be a name with options, so it is split into words.
    # shellcheck disable=SC2086
    "$folder"/$target --plant --seconds 3 >/dev/null 2>&1 || status=$?
    # Only exit code 1 is a find. Other codes mean wrong usage (64) or a crash.
    if [ $status -ne 1 ]; then
        echo "switchyard: the fuzzer does not work: $target did not find its planted bug (exit $status)" >&2
        exit 70
    fi
done
echo "switchyard: the fuzzer found every planted bug; now it runs for $seconds seconds"
# shellcheck disable=SC2086
for target in "${targets[@]}"; do "$folder"/$target --seconds "$share"; done
