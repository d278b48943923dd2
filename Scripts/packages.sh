#!/usr/bin/env bash
# Installs the Debian packages for a purpose that are missing.
# If all are installed, it needs neither root nor the network, and prints nothing. It never removes or upgrades a package.
#
# usage: Scripts/packages.sh build|test|schema|clients|bench|metrics|nats|page|redaction ...
set -euo pipefail

# a|b means that either package is enough. The first one is installed if both are missing.
declare -A packages=(
    [build]="libjansson-dev libssl-dev zlib1g-dev libzstd-dev libsqlite3-dev libre2-dev libbrotli-dev g++ libcurl4-openssl-dev|libcurl4-gnutls-dev libnats-dev pkg-config|pkgconf binutils"
    [test]="g++ libsimdjson-dev groff-base openssl python3"
    [schema]="python3 python3-venv"
    [clients]="python3 python3-venv"
    [bench]="g++ libsimdjson-dev jq python3 nginx-light|nginx-core|nginx wrk strace"
    [redaction]="python3 python3-venv"
    [metrics]="prometheus python3"
    [nats]="nats-server openssl python3"
    [page]="chromium chromium-driver python3-selenium"
    [instructions]="valgrind python3"
)

say() { echo "switchyard: $*" >&2; }

if [ $# -eq 0 ]; then
    say "usage: Scripts/packages.sh ${!packages[*]}"
    exit 64
fi
wanted=()
for purpose in "$@"; do
    if [ -z "${packages[$purpose]-}" ]; then
        say "unknown purpose '$purpose', expected one of: ${!packages[*]}"
        exit 64
    fi
    read -ra more <<<"${packages[$purpose]}"
    wanted+=("${more[@]}")
done

if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian, so this script assumes that packages like these are installed: ${wanted[*]%%|*}"
    exit 0
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]; }

missing=()
for choice in "${wanted[@]}"; do
    found=no
    for package in ${choice//|/ }; do
        if installed "$package"; then found=yes; fi
    done
    [ $found = yes ] || missing+=("${choice%%|*}")
done
[ ${#missing[@]} -gt 0 ] || exit 0
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ "$(id -u)" -eq 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env)
else
    say "these packages are missing: ${missing[*]}"
    say "install them as root, then run this again:  apt-get update && ${install[*]}"
    exit 69
fi

say "installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null; }
# The package lists of a fresh machine are empty or old. They are fetched only if the installation fails without.
if ! apt "${install[@]}" && ! { apt apt-get update && apt "${install[@]}"; }; then
    cat "$log" >&2
    say "could not install ${missing[*]}; the output of apt-get is above"
    exit 69
fi
