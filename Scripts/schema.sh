#!/usr/bin/env bash
# Holds `switchyard schema` against the validator `jsonschema` from PyPI: the corpus of good and broken files, and every
# configuration of the project. The validator is kept in .build/schema-venv; the network is needed only to install it there.
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
        say "$validator could not be installed; it needs python3 with venv, and the package index once"
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
    say "the corpus could not be written; the words of the tests are above"
    exit 70
}
"$built/switchyard" schema >"$folder/schema.json"

# Every configuration that the project shows or uses.
mapfile -t files < <(find routes.json Examples Benchmarks/routes -name '*.json' | sort)
"$environment/bin/python" Tests/Schema/validate.py "$folder/corpus.json" "$folder/schema.json" "${files[@]}"
