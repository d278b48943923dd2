#!/usr/bin/env bash
# Does what the README tells the author of a provider in Swift, as it is written there, in a copy of this tree: its file, its two
# lines of the manifest, a build, the contract, and events through it. Run by `make contract`, which puts swift on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "switchyard: README.md, Writing one in Swift: $1" >&2
    exit 1
}

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar c --exclude='.build*' --exclude=.git . | tar x -C "$copy"
mkdir "$copy/Plugins/Greeter"
awk '/^### / { here = /^### Writing one in Swift/ } !here { next } /^```/ { inside = /swift$/; next } inside' README.md \
    >"$copy/Plugins/Greeter/Greeter.swift"
[ -s "$copy/Plugins/Greeter/Greeter.swift" ] || fail "there is no example"
for line in 'adapterProduct("Greeter")' 'adapter("Greeter", hasCases: false)'; do
    grep -qF "\`$line\`" README.md || fail "it does not name the line $line"
    # Behind the same line of another adapter.
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
[[ $said == *'good morning'* ]] || fail "the module said: $said"
echo "switchyard: README.md: its example in Swift builds, keeps the contract and runs"
