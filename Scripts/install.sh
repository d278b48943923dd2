#!/usr/bin/env bash
# Builds the release and installs it:
#
#   bin/switchyard, share/man/man1/switchyard.1
#   lib/switchyard/             the part of the Swift runtime that the programs and the modules need
#   lib/switchyard/plugins/     a module for each folder of Plugins/
#   for authors of modules: bin/switchyard-contract, include/switchyard_plugin.h and switchyard_source.h, and share/switchyard/module, a package to begin with
#
# Each file is installed by a rename, and unchanged files are not touched, so a running router is not disturbed. The script never removes a
# file, so other modules stay.
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
headers=$root/include
templates=$root/share/switchyard

# The installed files contain no path of this machine. The executable has a DT_RPATH, because only that also applies to the modules that it
# loads. So a module that needs more of the Swift runtime than the executable finds it in lib/switchyard.
build=(swift build -c release --scratch-path .build-install --disable-local-rpath
    -Xswiftc -no-toolchain-stdlib-rpath -Xlinker --disable-new-dtags)
"${build[@]}" -j "${JOBS:-$(nproc)}" >&2
built=$("${build[@]}" --show-bin-path)
runtime=$(swiftc -print-target-info | sed -n '/"runtimeLibraryPaths"/,/]/s/^ *"\(\/.*\)",\{0,1\}$/\1/p' | head -n 1)
if [ ! -e "$runtime/libswiftCore.so" ]; then
    say "the Swift runtime is not where the compiler says: no libswiftCore.so in '$runtime'"
    exit 69
fi

# Other users must not be able to write files that the router loads, whatever the umask of the installing user is.
umask 022
mkdir -p "$bin" "$plugins" "$manuals" "$headers"
stage=$(mktemp -d)
unfinished=
trap 'rm -rf "$stage" ${unfinished:+"$unfinished"}' EXIT

# place NAME FOLDER MODE: copies a staged file to the target file system and renames it into place.
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

# ship_runtime_of FILE: installs the libraries of the Swift runtime that a file needs, directly or not, each once.
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

# Dependencies are installed first, so that the program can start at every moment.
modules=()
for folder in Plugins/*/; do modules+=("$(basename "$folder")"); done
for module in "${modules[@]}"; do ship_runtime_of "$built/lib$module.so"; done
ship_runtime_of "$built/switchyard"
ship_runtime_of "$built/switchyard-contract"
# A module that is built in a package of its own imports these, as every Swift library does unless it is told not to.
for library in libswift_Concurrency.so libswift_StringProcessing.so; do
    if [ -n "${shipped[$library]-}" ]; then continue; fi
    put "$runtime/$library" "$library" "$libraries"
    shipped[$library]=yes
    ship_runtime_of "$runtime/$library"
done
for module in "${modules[@]}"; do put "$built/lib$module.so" "${module,,}.so" "$plugins"; done
# This library is loaded by name when an expression uses `matches`.
put "$built/libswitchyard-patterns.so" libswitchyard-patterns.so "$libraries"
put "$built/switchyard" switchyard "$bin"
put "$built/switchyard-contract" switchyard-contract "$bin"

for header in switchyard_plugin.h switchyard_source.h; do
    cp "Sources/Kits/CSwitchyardPlugin/include/$header" "$stage"
    place "$header" "$headers" 644
done
while read -r file; do
    name=$(basename "$file")
    mkdir -p "$templates/$(dirname "$file")"
    cp "Examples/$file" "$stage/$name"
    place "$name" "$templates/$(dirname "$file")" 644
done < <(cd Examples && find module -name '.build*' -prune -o -type f -print)

# The executable prints its own manual page. In the build folder it cannot find the Swift runtime without this variable.
LD_LIBRARY_PATH=$runtime "$built/switchyard" help --man >"$stage/switchyard.1"
place switchyard.1 "$manuals" 644

# The router refuses modules from a folder that other users can write, so warn about that now.
folder=$plugins
while [ -n "$folder" ] && [ "$folder" != "${DESTDIR:-}" ]; do
    mode=$(stat -c %a "$folder")
    if [ $((8#$mode & 8#0022)) -ne 0 ] && { [ $((8#$mode & 8#1000)) -eq 0 ] || [ "$folder" = "$plugins" ]; }; then
        say "warning: $folder can be written by other users (mode $mode), so switchyard will not load modules from it: chmod go-w '$folder'"
    fi
    folder=${folder%/*}
done
