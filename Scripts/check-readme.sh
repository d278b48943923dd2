#!/usr/bin/env bash
# Does in a copy of this tree what docs/write-a-provider.md tells the author of a provider in Swift: it adds the file and the two lines of
# the manifest, builds it, checks the contract, and sends events through it. Run by `make contract`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

page=docs/write-a-provider.md
fail() {
    echo "switchyard: $page, Writing one in Swift: $1" >&2
    exit 1
}

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar c --exclude='.build*' --exclude=.git . | tar x -C "$copy"
mkdir "$copy/Plugins/Greeter"
awk '/^## / { here = /^## Writing one in Swift/ } !here { next } /^```/ { inside = /swift$/; next } inside' $page \
    >"$copy/Plugins/Greeter/Greeter.swift"
[ -s "$copy/Plugins/Greeter/Greeter.swift" ] || fail "the section has no example"
for line in 'adapterProduct("Greeter")' 'adapter("Greeter", hasCases: false)'; do
    grep -qF "\`$line\`" $page || fail "the text does not name the line $line"
    # Insert it after the same line of another adapter.
    sed -i "s/^\( *\)${line%%(*}(\"NoOp\".*/&\n\1$line,/" "$copy/Package.swift"
    grep -qF "$line" "$copy/Package.swift" || fail "Package.swift has no place for $line"
done

swift build
built=$(swift build --show-bin-path)
(cd "$copy" && swift build --product Greeter -Xswiftc -warnings-as-errors)
library=$(cd "$copy" && swift build --show-bin-path)/libGreeter.so
"$built/switchyard-contract" "$library"

echo '{ "providers": { "out": { "plugin": "greeter", "greeting": "good morning" } }, "routes": [ { "to": ["out"] } ] }' >"$copy/routes.json"
said=$(printf '{"event":"a"}\n{"event":"b"}\n' | SWITCHYARD_PLUGINS=${library%/*} "$built/switchyard" -c "$copy/routes.json" 2>&1)
[[ $said == *'good morning'* ]] || fail "the output is: $said"
echo "switchyard: $page: the example in Swift builds, fulfils the contract and runs"
