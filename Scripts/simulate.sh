#!/usr/bin/env bash
# Simulates lanes and the promise of consent by seeds. First both simulations must find their planted bugs. Run by `make simulate`, which
# puts swift on PATH.
#
# usage: Scripts/simulate.sh SEEDS [[--consent] --seed SEED [--plant NAME]]
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${1:?usage: Scripts/simulate.sh SEEDS [[--consent] --seed SEED]}
shift
export SWITCHYARD_EXTRAS=checks
build=(swift build --scratch-path .build-checks -c release)
for product in simulate promise; do "${build[@]}" --product $product; done
programs=$("${build[@]}" --show-bin-path)
if [ "${1:-}" = --consent ]; then
    shift
    exec "$programs/promise" "$@"
elif [ $# -gt 0 ]; then
    exec "$programs/simulate" "$@"
fi

alive() { # program, plants ...
    local program=$1 plant status
    shift
    # The program ends at the first breach. The rarest bug is found after about 1,600 seeds.
    for plant in "$@"; do
        status=0
        "$programs/$program" --plant "$plant" --seeds 10000 >/dev/null 2>&1 || status=$?
        # Exit code 1 means that a breach was found. Any other code means that the simulation did not find the bug.
        if [ $status -ne 1 ]; then
            echo "switchyard: the simulation does not work: it did not find the planted bug '$plant' (exit $status)" >&2
            exit 70
        fi
    done
}
alive simulate loss twice sleep
alive promise unchecked stale retries revive resume early letters settle fields
echo "switchyard: the simulations found the planted bugs; now $seeds seeds of lanes"
"$programs/simulate" --seeds "$seeds" --jobs "$(nproc)"
echo "switchyard: now $seeds seeds of the promise of consent"
"$programs/promise" --seeds "$seeds" --jobs "$(nproc)"
