#!/usr/bin/env bash
# The checks that need no run: format, imports, promises, warnings. Run by `make check`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "switchyard: format"
# A nested package's build folder holds sources of others; links lead to files that are checked at their own place.
find . \( -name '.build*' -o -name .git \) -prune -o -type f -name '*.swift' -print0 \
    | xargs -0 swift format lint --strict

echo "switchyard: imports"
# Foundation costs 62 MB on disk and 8 MB of memory, concurrency a runtime of its own: the executable has neither.
if grep -rnE '^[^/]*\bimport (Foundation|FoundationEssentials|Synchronization)\b' Sources; then
    echo "switchyard: the lines above import what the executable does without" >&2
    exit 1
fi

echo "switchyard: promises"
Scripts/promises.py

echo "switchyard: planted bugs"
# Whether each is still where the code is; that the tests find them is for `make mutants` to show.
Tests/Mutants/mutants --check

echo "switchyard: warnings"
# Where everything is built so, as in .ci/run, one build does; otherwise the usual one stays as it is.
if [ "${SWITCHYARD_WARNINGS-}" = errors ]; then scratch=.build; else scratch=.build-check; fi
SWITCHYARD_WARNINGS=errors swift build --build-tests --scratch-path $scratch
