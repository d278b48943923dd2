#!/usr/bin/env bash
# Checks that an installation is complete: it needs no library of the toolchain, nothing in it is linked to Foundation, libcurl or OpenSSL, and
# it runs in an empty environment with the toolchain hidden. A module exports only its entry, and is not larger than promised.
#
# usage: [PREFIX=/usr/local] [DESTDIR=] Scripts/check-install.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. Scripts/toolchain.sh

root=${DESTDIR:-}${PREFIX:-/usr/local}
root=$(realpath "$root")
program=$root/bin/switchyard
libraries=$root/lib/switchyard
faults=0
fault() {
    echo "switchyard: $*" >&2
    faults=$((faults + 1))
}

needed() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# find_library NAME: prints the path of the installed library, or of the system's library.
system_libraries=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p)
find_library() {
    if [ -e "$libraries/$1" ]; then
        echo "$libraries/$1"
    else
        awk -v name="$1" '$1 == name { print $NF; exit }' <<<"$system_libraries"
    fi
}

# follow FILE: adds the names of all libraries that a file needs, directly or not, to `closure`. A missing library is a fault.
declare -A closure=()
follow() {
    local library path
    while read -r library; do
        [ -z "${closure[$library]-}" ] || continue
        closure[$library]=$1
        path=$(find_library "$library")
        if [ -z "$path" ]; then
            fault "$1 needs $library, which is neither in $libraries nor in the system"
        else
            follow "$path"
        fi
    done < <(needed "$1")
}

follow "$program"
for library in "${!closure[@]}"; do
    case $library in
        libFoundation* | lib_Foundation* | libcurl*) fault "$program needs $library, because of ${closure[$library]}" ;;
    esac
done
executable_count=${#closure[@]}
for module in "$libraries"/plugins/*.so; do follow "$module"; done
follow "$root/bin/switchyard-contract"
for library in "${!closure[@]}"; do
    case $library in
        libFoundation* | lib_Foundation*) fault "${closure[$library]} needs $library" ;;
        # These are large, and are loaded when they are first needed.
        libcurl* | libssl* | libcrypto*) fault "${closure[$library]} needs $library, which a provider that waits must not load" ;;
    esac
done

for file in "$program" "$root/bin/switchyard-contract" "$libraries"/*.so "$libraries"/plugins/*.so; do
    paths=$(readelf -dW "$file" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\]/\2/p')
    case :$paths in
        *:/*) fault "$file searches libraries in $paths; only paths that begin with \$ORIGIN are valid on every machine" ;;
    esac
    mode=$(stat -c %a "$file")
    [ $((8#$mode & 8#0022)) -eq 0 ] || fault "$file can be written by others (mode $mode)"
done
[[ $(readelf -dW "$program") == *'(RPATH)'*'$ORIGIN/../lib/switchyard'* ]] \
    || fault "$program has no DT_RPATH \$ORIGIN/../lib/switchyard, so its modules cannot find the Swift runtime"

# A module is copied into memory when it is loaded. http is larger, because it holds the language of the expressions.
for module in "$libraries"/plugins/*.so; do
    most=1000000
    [ "$(basename "$module")" != http.so ] || most=1400000
    size=$(stat -c %s "$module")
    [ "$size" -lt $most ] || fault "$module has $size bytes, $most or more"
    exported=$(nm -D --defined-only "$module" | awk '{ print $NF }' | sort -u | tr '\n' ' ')
    expected="switchyard_plugin_entry "
    case "$(basename "$module")" in exec.so | nats.so) expected+="switchyard_source_entry " ;; esac
    [ "$exported" = "$expected" ] || fault "$module exports $(wc -w <<<"$exported") symbols, expected only $expected"
done

for file in include/switchyard_plugin.h include/switchyard_source.h share/switchyard/module/Package.swift; do
    [ -s "$root/$file" ] || fault "$root/$file does not exist"
done
[ -s "$root/share/man/man1/switchyard.1" ] || [ -s "$root/share/man/man1/switchyard.1.gz" ] || fault "$root/share/man/man1/switchyard.1, the manual page, does not exist"

. Scripts/hide-toolchain.sh
if [ $is_hidden = no ]; then
    while read -r path; do
        case $path in "$hidden"/*) fault "$program is linked to $path" ;; esac
    done < <(env -i LD_TRACE_LOADED_OBJECTS=1 "$program" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p')
fi
ran() { output=$(run "$@" </dev/null 2>&1) || fault "a command does not run in an empty environment $how: $*: exit $?: $output"; }
ran "$program" --version
ran "$root/bin/switchyard-contract" "$libraries/plugins/noop.so"
ran "$program" eval "'abc'.matches('^a')"
for module in "$libraries"/plugins/*.so; do ran "$program" providers "$(basename "$module" .so)"; done

if [ $faults -gt 0 ]; then exit 70; fi
size=$(du -sh "$libraries" | cut -f 1)
echo "switchyard: $root is complete: $executable_count libraries, $size in lib/switchyard, runs with an empty environment $how" >&2
