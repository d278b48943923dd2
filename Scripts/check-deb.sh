#!/usr/bin/env bash
# Checks the package of `make deb`: it is unpacked and runs with the toolchain hidden, and a second build gives the same bytes. If
# systemd-analyze is installed, it checks the units.
#
# usage: Scripts/check-deb.sh
set -euo pipefail
cd "$(dirname "$0")/.."

faults=0
fault() {
    echo "switchyard: $*" >&2
    faults=$((faults + 1))
}
# The highest accepted exposure of the service, where 100 is the worst.
most_exposure=20

Scripts/deb.sh
package=$(ls -t .build/deb/*.deb | head -n 1)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$package" "$folder/first.deb"
Scripts/deb.sh
cmp "$package" "$folder/first.deb" || fault "a second build of $package gives different bytes"

dpkg-deb -x "$package" "$folder/tree"
dpkg-deb -e "$package" "$folder/control"
PREFIX=/usr DESTDIR=$folder/tree Scripts/check-install.sh || fault "the contents of $package do not run without the toolchain"

[ "$(cat "$folder/control/conffiles")" = /etc/switchyard/routes.json ] || fault "routes.json is not a conffile of $package"
for wanted in libc6 libcurl4 libjansson4 libre2 libsqlite3-0 libssl3 libzstd1 zlib1g; do
    grep -q "^Depends:.*\b$wanted" "$folder/control/control" || fault "$package does not depend on $wanted"
done
grep -q '^Suggests: libnats' "$folder/control/control" || fault "$package does not suggest the library of NATS"
others=$(dpkg-deb -c "$package" | awk '$2 != "root/root"')
[ -z "$others" ] || fault "some files in $package do not belong to root: $others"
(cd "$folder/tree" && md5sum --quiet -c "$folder/control/md5sums") || fault "the checksums in $package are wrong"
for script in postinst prerm postrm; do sh -n "$folder/control/$script" || fault "$script is not a valid script"; done

# The packaged configuration must be valid.
SWITCHYARD_PLUGINS='' "$folder/tree/usr/bin/switchyard" check "$folder/tree/etc/switchyard/routes.json" >/dev/null \
    || fault "the routes.json of $package is not valid"

units=$folder/tree/lib/systemd/system
if command -v systemd-analyze >/dev/null; then
    # The units are copied, with the path of the unpacked program.
    mkdir "$folder/units"
    for unit in switchyard.service switchyard.socket; do
        sed "s|/usr/bin/switchyard|$folder/tree&|" "$units/$unit" >"$folder/units/$unit"
    done
    verify() { systemd-analyze verify --man=no "$folder/units/$1" 2>&1 | grep -F "$1"; }
    for unit in switchyard.service switchyard.socket; do
        if verify $unit; then fault "systemd-analyze reports a fault in $unit"; fi
    done
    # systemd-analyze must find a planted fault.
    sed 's/^NoNewPrivileges=/NoNewPrivilege=/' "$folder/units/switchyard.service" >"$folder/units/planted.service"
    verify planted.service >/dev/null || fault "systemd-analyze does not work: it did not find the planted key"
    systemd-analyze security --offline=true --threshold=$most_exposure --no-pager "$units/switchyard.service" >"$folder/security" 2>&1 \
        || fault "systemd-analyze rates the service as too exposed: $(tail -n 1 "$folder/security")"
    score=$(tail -n 1 "$folder/security" | grep -oE '[0-9]+\.[0-9]+ [A-Z]+' || true)
    said=", exposure $score"
else
    said=" (systemd-analyze is not installed, so the units were not checked)"
fi

if [ $faults -gt 0 ]; then exit 70; fi
echo "switchyard: $package runs without the toolchain$said" >&2
