#!/usr/bin/env bash
# Checks built modules with the contract (Tests/Contract): the named module with its cases, or otherwise every adapter of this project, the
# example in C and the example in Swift of docs/write-a-provider.md. Then the contract must find every fault of the modules that break it on
# purpose. Run by `make contract`, which puts swift on PATH.  contract.sh [LIBRARY.so [CASES.json]]
set -euo pipefail
cd "$(dirname "$0")/.."

swift build
built=$(swift build --show-bin-path)
contract=$built/switchyard-contract

if [ $# -gt 0 ]; then exec "$contract" "$@"; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

compile() { # source, name of the module, options ...
    local source=$1 output=$folder/$2.so
    shift 2
    cc -std=gnu11 -shared -fPIC -pthread -Wall -Wextra -Werror -Wno-unused -I Sources/Kits/CSwitchyardPlugin/include "$@" "$source" -o "$output"
}

hold() { # library [cases]
    echo "switchyard: contract: $(basename "$1")"
    "$contract" "$@" || failed=1
}

for plugin in Plugins/*/; do
    cases=${plugin}contract.json
    if [ -e "$cases" ]; then hold "$built/lib$(basename "$plugin").so" "$cases"; else hold "$built/lib$(basename "$plugin").so"; fi
done

compile Examples/providers/count.c count
hold "$folder/count.so"
compile Tests/PluginHostTests/Modules/scripted.c scripted -DFLUSHES
hold "$folder/scripted.so" Tests/Contract/scripted.json
Scripts/check-readme.sh || failed=1

# Without a fault the module fulfils the contract, so the contract finds only the planted faults.
compile Tests/Contract/bad.c bad
hold "$folder/bad.so" Tests/Contract/bad.json
for way in TWICE NEVER WRONG CHANGES CRASHES EXITS HANGS LEAKS DESCRIPTORS BEFORE SWALLOWS CREATES OPENS RETRIES AFTER STAYS FORGETS COUNTS SENDS SILENT \
    ERASES_NEVER ERASES_WRONG ERASES_LONG ERASES_OTHERS ERASES_TWICE; do
    compile Tests/Contract/bad.c bad "-D$way"
    # Only a failed check counts. A contract that could not run has found nothing.
    if "$contract" --patience 1 "$folder/bad.so" Tests/Contract/bad.json >"$folder/report" || ! grep -q '^FAILED' "$folder/report"; then
        echo "switchyard: the contract does not work: it did not find the fault $way of the bad module" >&2
        failed=1
    else
        echo "switchyard: contract: found the fault $way of the bad module: $(grep -m 1 '^FAILED' "$folder/report")"
    fi
done
compile Examples/sources/tick.c tick
echo '{"sources": [{"name": "ticks", "settings": {"count": 3}, "lines": 3, "ends": true}]}' >"$folder/tick.json"
hold "$folder/tick.so" "$folder/tick.json"
compile Tests/Contract/bad-source.c bad-source
hold "$folder/bad-source.so" Tests/Contract/bad-source.json
for way in TWICE COUNTS TORN SWALLOWS FORGETS PUSHES DEAF LATE AFTER NEVER_ENDS HANGS EXITS LEAKS CREATES; do
    compile Tests/Contract/bad-source.c bad-source "-D$way"
    if "$contract" --patience 1 "$folder/bad-source.so" Tests/Contract/bad-source.json >"$folder/report" || ! grep -q '^FAILED' "$folder/report"; then
        echo "switchyard: the contract does not work: it did not find the fault $way of the bad source" >&2
        failed=1
    else
        echo "switchyard: contract: found the fault $way of the bad source: $(grep -m 1 '^FAILED' "$folder/report")"
    fi
done
exit $failed
