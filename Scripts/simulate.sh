#!/usr/bin/env bash
# Plays lanes by seeds, after planted bugs that it must find. Run by `make simulate`, which puts swift on PATH.
#
# usage: Scripts/simulate.sh SEEDS [--seed SEED [--plant NAME]]
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${1:?usage: Scripts/simulate.sh SEEDS [--seed SEED]}
shift
swift build --package-path Tests/Simulation --scratch-path .build-simulate -c release
simulate=$(swift build --package-path Tests/Simulation --scratch-path .build-simulate -c release --show-bin-path)/simulate
if [ $# -gt 0 ]; then
    exec "$simulate" "$@"
fi

for plant in loss twice sleep; do
    status=0
    "$simulate" --plant $plant --seeds 1000 >/dev/null 2>&1 || status=$?
    # 1 is a finding; anything else says that it did not look.
    if [ $status -ne 1 ]; then
        echo "switchyard: the simulation is not alive: it did not find the planted bug '$plant' (exit $status)" >&2
        exit 70
    fi
done
echo "switchyard: the simulation found the planted bugs; now $seeds seeds in earnest"
"$simulate" --seeds "$seeds" --jobs "$(nproc)"
