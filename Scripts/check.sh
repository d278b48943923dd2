#!/usr/bin/env bash
# The checks that run no test: format, imports, promises, links, planted bugs, warnings. Run by `make check`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "switchyard: format"
# The build folder of a nested package contains sources of other projects. Links are skipped, because their targets are checked already.
find . \( -name '.build*' -o -name .git \) -prune -o -type f -name '*.swift' -print0 \
    | xargs -0 swift format lint --strict

echo "switchyard: functions under a lock"
# Sources/Base/Platform/Lock.swift says why.
if grep -rnE 'Monitor<[^>]*->|Monitor\([^)]*->' Sources Plugins; then
    echo "switchyard: put the functions of the lines above into structures" >&2
    exit 1
fi

echo "switchyard: imports"
# Foundation costs 62 MB on disk and 8 MB of memory, and concurrency needs its own runtime, so the executable uses neither.
if grep -rnE '^[^/]*\bimport (Foundation|FoundationEssentials|Synchronization)\b' Sources; then
    echo "switchyard: the lines above import modules that the executable must not use" >&2
    exit 1
fi
for extras in "" checks benchmarks; do Scripts/imports.py "$extras"; done

echo "switchyard: promises"
Scripts/promises.py

echo "switchyard: links"
Scripts/links.py

echo "switchyard: planted bugs"
# This only checks that each bug still matches the code. `make mutants` checks that the tests find them.
Tests/Mutants/mutants --check

echo "switchyard: warnings"
# If every build treats warnings as errors, as in .ci/run, this uses the normal build folder. Otherwise it uses its own one.
if [ "${SWITCHYARD_WARNINGS-}" = errors ]; then scratch=.build; else scratch=.build-check; fi
SWITCHYARD_WARNINGS=errors swift build --build-tests --scratch-path $scratch
