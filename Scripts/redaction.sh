#!/usr/bin/env bash
# Measures what `scrub` finds on generated texts of 18 locales, and what it finds wrongly, beside Presidio's pattern recognisers and
# scrubadub. They, faker and python-stdnum are installed from PyPI in .build/redaction-venv; only this installation needs the network.
# Run by `make redaction`, which puts swift on PATH. Its arguments are those of Benchmarks/redaction/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."

packages="faker==40.63.0 presidio-analyzer==2.2.366 scrubadub==2.0.1 python-stdnum==2.2"
environment=.build/redaction-venv

say() { echo "switchyard: $*" >&2; }

if [ "$(cat "$environment/installed" 2>/dev/null)" != "$packages" ]; then
    say "installing $packages from PyPI in $environment"
    rm -rf "$environment"
    mkdir -p .build
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # shellcheck disable=SC2086
    if ! { python3 -m venv "$environment" \
        && "$environment/bin/pip" install --quiet --disable-pip-version-check --retries 3 $packages; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -rf "$environment"
        say "the programs to compare with could not be installed; this needs python3 with venv, and access to PyPI"
        exit 69
    fi
    echo "$packages" >"$environment/installed"
fi

say "building"
swift build
exec "$environment/bin/python" Benchmarks/redaction/run.py --program "$(swift build --show-bin-path)/switchyard" "$@"
