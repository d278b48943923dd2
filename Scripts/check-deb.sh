#!/usr/bin/env bash
# Proves that the package of `make deb` stands on its own: it is unpacked, and runs with the toolchain hidden; its units are held
# against systemd's own verdict, where systemd-analyze is there; building it again gives the same bytes.
#
# usage: Scripts/check-deb.sh
set -euo pipefail
cd "$(dirname "$0")/.."

faults=0
fault() {
    echo "switchyard: $*" >&2
    faults=$((faults + 1))
}
# How exposed systemd may think the service is, of 100.
most_exposure=20

Scripts/deb.sh
package=$(ls -t .build/deb/*.deb | head -n 1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$package" "$folder/first.deb"
Scripts/deb.sh
cmp "$package" "$folder/first.deb" || fault "$package is another one when it is built again"

dpkg-deb -x "$package" "$folder/tree"
dpkg-deb -e "$package" "$folder/control"
PREFIX=/usr DESTDIR=$folder/tree Scripts/check-install.sh || fault "what is in $package does not stand on its own"

[ "$(cat "$folder/control/conffiles")" = /etc/switchyard/routes.json ] || fault "routes.json is no conffile of $package"
for wanted in libc6 libcurl4 libjansson4 libmicrohttpd12 libre2 libsqlite3-0 libssl3 libzstd1 zlib1g; do
    grep -q "^Depends:.*\b$wanted" "$folder/control/control" || fault "$package does not depend on $wanted"
done
others=$(dpkg-deb -c "$package" | awk '$2 != "root/root"')
[ -z "$others" ] || fault "not everything in $package is root's: $others"
(cd "$folder/tree" && md5sum --quiet -c "$folder/control/md5sums") || fault "the sums in $package are wrong"
for script in postinst prerm postrm; do sh -n "$folder/control/$script" || fault "$script is no script"; done

# The configuration to begin with is one.
SWITCHYARD_PLUGINS='' "$folder/tree/usr/bin/switchyard" check "$folder/tree/etc/switchyard/routes.json" >/dev/null \
    || fault "the routes.json of $package is wrong"

units=$folder/tree/lib/systemd/system
if command -v systemd-analyze >/dev/null; then
    # Beside the units of the system, and with the program where it was unpacked.
    mkdir "$folder/units"
    for unit in switchyard.service switchyard.socket; do
        sed "s|/usr/bin/switchyard|$folder/tree&|" "$units/$unit" >"$folder/units/$unit"
    done
    verify() { systemd-analyze verify --man=no "$folder/units/$1" 2>&1 | grep -F "$1"; }
    for unit in switchyard.service switchyard.socket; do
        if verify $unit; then fault "systemd-analyze finds fault with $unit"; fi
    done
    # That it looks at all is part of the check.
    sed 's/^NoNewPrivileges=/NoNewPrivilege=/' "$folder/units/switchyard.service" >"$folder/units/planted.service"
    verify planted.service >/dev/null || fault "systemd-analyze is not alive: it does not find the key that was planted"
    systemd-analyze security --offline=true --threshold=$most_exposure --no-pager "$units/switchyard.service" >"$folder/security" 2>&1 \
        || fault "systemd-analyze thinks the service too exposed: $(tail -n 1 "$folder/security")"
    score=$(tail -n 1 "$folder/security" | grep -oE '[0-9]+\.[0-9]+ [A-Z]+' || true)
    said=", exposure $score"
else
    said=" (there is no systemd-analyze here, so nobody has looked at the units)"
fi

if [ $faults -gt 0 ]; then exit 70; fi
echo "switchyard: $package stands on its own$said" >&2
