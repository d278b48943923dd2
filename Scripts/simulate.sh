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

# Fails if a program does not find its planted bug. The program ends at the first breach.
alive() { # program, plant
    local status=0
    "$programs/$1" --plant "$2" --seeds 10000 >/dev/null 2>&1 || status=$?
    # Exit code 1 means that a breach was found. Any other code means that the simulation did not find the bug.
    if [ $status -ne 1 ]; then
        echo "switchyard: the simulation does not work: $1 did not find the planted bug '$2' (exit $status)" >&2
        return 1
    fi
}
export -f alive
export programs
plants=(simulate:loss simulate:twice simulate:sleep)
for plant in unchecked stale retries revive resume early letters settle fields asks strays aside forgets uncounted order adopt held answers turn underway imports damage sections subjects signals losses; do plants+=("promise:$plant"); done
# Each search uses one processor, so there are as many at a time as there are processors.
printf '%s\n' "${plants[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'alive "${1%%:*}" "${1#*:}"' alive '{}' || exit 70
echo "switchyard: the simulations found the planted bugs; now $seeds seeds of lanes"
"$programs/simulate" --seeds "$seeds" --jobs "$(nproc)"
echo "switchyard: now $seeds seeds of the promise of consent"
"$programs/promise" --seeds "$seeds" --jobs "$(nproc)"
