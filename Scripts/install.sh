#!/usr/bin/env bash
# Builds the release and installs it: bin/switchyard, lib/switchyard/ with the part of the Swift runtime that it needs,
# lib/switchyard/plugins/ with a module for each folder of Plugins/, and share/man/man1/switchyard.1. Every file is put in place whole, by a rename, and one that
# has not changed is left alone: a running router is not disturbed. It never removes anything, so modules of your own stay.
#
# usage: [PREFIX=/usr/local] [DESTDIR=] Scripts/install.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. Scripts/toolchain.sh

say() { echo "switchyard: $*" >&2; }

prefix=${PREFIX:-/usr/local}
case $prefix in
    /*) ;;
    *)
        say "PREFIX must be an absolute path, is '$prefix'"
        exit 64
        ;;
esac
root=${DESTDIR:-}${prefix%/}
bin=$root/bin
libraries=$root/lib/switchyard
plugins=$libraries/plugins
manuals=$root/share/man/man1

# No path of this machine goes into what is installed. The executable's own run path is a DT_RPATH, since that alone also holds
# for the modules it loads: one that needs more of the Swift runtime than the executable does finds it in lib/switchyard.
build=(swift build -c release --scratch-path .build-install --disable-local-rpath
    -Xswiftc -no-toolchain-stdlib-rpath -Xlinker --disable-new-dtags)
"${build[@]}" -j "${JOBS:-$(nproc)}" >&2
built=$("${build[@]}" --show-bin-path)
runtime=$(swiftc -print-target-info | sed -n '/"runtimeLibraryPaths"/,/]/s/^ *"\(\/.*\)",\{0,1\}$/\1/p' | head -n 1)
if [ ! -e "$runtime/libswiftCore.so" ]; then
    say "the Swift runtime is not where the compiler says: no libswiftCore.so in '$runtime'"
    exit 69
fi

# Others must not be able to write what the router loads, whatever the umask of whoever installs.
umask 022
mkdir -p "$bin" "$plugins" "$manuals"
stage=$(mktemp -d)
unfinished=
trap 'rm -rf "$stage" ${unfinished:+"$unfinished"}' EXIT

# place NAME FOLDER MODE: renames what is staged into place, on the file system where it is to be.
place() {
    local staged=$stage/$1 target=$2/$1
    if cmp -s "$staged" "$target" && [ "$(stat -c %a "$target")" = "$3" ]; then return; fi
    unfinished=$(mktemp "$2/.$1.XXXXXX")
    cp "$staged" "$unfinished"
    chmod "$3" "$unfinished"
    mv -f "$unfinished" "$target"
    unfinished=
    say "installed $target"
}

# put FILE NAME FOLDER: places a stripped copy.
put() {
    cp "$1" "$stage/$2"
    strip --strip-unneeded "$stage/$2"
    place "$2" "$3" 755
}

# The libraries of the Swift runtime that a file needs, and that those need; each once.
declare -A shipped=()
ship_runtime_of() {
    local library
    while read -r library; do
        if [ -n "${shipped[$library]-}" ] || [ ! -e "$runtime/$library" ]; then continue; fi
        shipped[$library]=yes
        put "$runtime/$library" "$library" "$libraries"
        ship_runtime_of "$runtime/$library"
    done < <(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
}

# First what is needed, last what needs it, so that there is no moment at which a start would fail.
modules=()
for folder in Plugins/*/; do modules+=("$(basename "$folder")"); done
for module in "${modules[@]}"; do ship_runtime_of "$built/lib$module.so"; done
ship_runtime_of "$built/switchyard"
for module in "${modules[@]}"; do put "$built/lib$module.so" "${module,,}.so" "$plugins"; done
# Loaded by name when an expression uses `matches`.
put "$built/libswitchyard-patterns.so" libswitchyard-patterns.so "$libraries"
put "$built/switchyard" switchyard "$bin"

# The executable writes its own manual page. Where it is built it finds no Swift runtime by itself.
LD_LIBRARY_PATH=$runtime "$built/switchyard" help --man >"$stage/switchyard.1"
place switchyard.1 "$manuals" 644

# The router refuses modules from a folder that others could change; better said now than at its first start.
folder=$plugins
while [ -n "$folder" ] && [ "$folder" != "${DESTDIR:-}" ]; do
    mode=$(stat -c %a "$folder")
    if [ $((8#$mode & 8#0022)) -ne 0 ] && { [ $((8#$mode & 8#1000)) -eq 0 ] || [ "$folder" = "$plugins" ]; }; then
        say "warning: $folder can be written by others (mode $mode), and switchyard will not load modules from it: chmod go-w '$folder'"
    fi
    folder=${folder%/*}
done
