#!/usr/bin/env bash
# Does what the author of a module in a package of its own does: copies the installed template, lets it depend on a tag of this repository,
# builds, tests and installs it, checks the contract, and sends an event through it with the toolchain hidden. Run by .ci/run after
# `make install`.
#
# usage: [PREFIX=/usr/local] Scripts/check-module.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. Scripts/toolchain.sh
. Scripts/hide-toolchain.sh

prefix=$(realpath "${PREFIX:-/usr/local}")
version=$(sed -n 's/^public let version = "\(.*\)"$/\1/p' Sources/Command/Terminal/Version.swift)
fail() {
    echo "switchyard: $*" >&2
    exit 70
}

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

# The tag holds the tree as it is here, also what is not committed.
echo "switchyard: module: a repository with the tag $version"
mkdir "$work/switchyard"
find . \( -name '.build*' -o -name .git -o -path ./var \) -prune -o -type f -print0 | tar c --null -T - | tar x -C "$work/switchyard"
git=(git -C "$work/switchyard" -c user.name=module -c user.email=module@switchyard.invalid -c init.defaultBranch=main)
"${git[@]}" init -q
"${git[@]}" add -A
"${git[@]}" commit -q -m "The tree of the check"
"${git[@]}" tag "$version"

export SWITCHYARD_REPOSITORY=file://$work/switchyard
cp -r "$prefix/share/switchyard/module" "$work/module"
mkdir "$work/plugins"
cd "$work/module"
echo "switchyard: module: build, install"
make install PLUGINS="$work/plugins"
echo "switchyard: module: contract"
PATH=$prefix/bin:$PATH make contract
echo "switchyard: module: tests"
make test

echo "switchyard: module: an event $how"
python3 -u -c '
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print(self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
' >"$work/bodies" &
server=$!
until [ -s "$work/bodies" ]; do
    kill -0 $server 2>/dev/null || fail "the server of the check did not start"
    sleep 0.1
done
port=$(head -n 1 "$work/bodies")
echo '{ "providers": { "out": { "plugin": "acme", "key": "k-0123", "url": "http://127.0.0.1:'"$port"'", "compression": "none" } },
  "routes": [ { "to": ["out"] } ] }' >"$work/routes.json"
chmod go-w "$work" "$work/plugins"
said=$(run SWITCHYARD_PLUGINS="$work/plugins" "$prefix/bin/switchyard" -c "$work/routes.json" --stats text \
    < <(echo '{"event":"Paid","messageId":"m1","userId":"u1","properties":{"price":1.50}}') 2>&1) || fail "the event did not arrive: $said"
grep -q '"name":"Paid".*"data":{"price":1.50}' "$work/bodies" || fail "the server got: $(cat "$work/bodies")"
echo "switchyard: a module of another package builds from the tag $version, fulfils the contract, and runs $how"
