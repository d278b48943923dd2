#!/usr/bin/env bash
# Plays lanes, and the promise of consent, by seeds, after planted bugs that each must find. Run by `make simulate`, which puts swift on
# PATH.
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
    # It ends at the first finding; the rarest comes after some 1,600 seeds.
    for plant in "$@"; do
        status=0
        "$programs/$program" --plant "$plant" --seeds 10000 >/dev/null 2>&1 || status=$?
        # 1 is a finding; anything else says that it did not look.
        if [ $status -ne 1 ]; then
            echo "switchyard: the simulation is not alive: it did not find the planted bug '$plant' (exit $status)" >&2
            exit 70
        fi
    done
}
alive simulate loss twice sleep
alive promise unchecked retries revive resume early letters settle fields
echo "switchyard: the simulations found the planted bugs; now $seeds seeds of lanes in earnest"
"$programs/simulate" --seeds "$seeds" --jobs "$(nproc)"
echo "switchyard: and $seeds seeds of the promise of consent"
"$programs/promise" --seeds "$seeds" --jobs "$(nproc)"
