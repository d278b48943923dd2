#!/usr/bin/env bash
# Builds a Debian package of the release in .build/deb: the tree of `make install` under /usr, the unit and its socket, and a first
# routes.json. The dependencies are read from the built files. The same tree always gives the same package, byte for byte, for every user.
#
# usage: Scripts/deb.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. Scripts/toolchain.sh

say() { echo "switchyard: $*" >&2; }

if ! command -v dpkg-deb >/dev/null; then
    say "dpkg-deb, which builds Debian packages, is not installed; make install installs the same files"
    exit 69
fi

output=.build/deb
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/tree
umask 022
mkdir -p "$tree/DEBIAN" "$output"
PREFIX=/usr DESTDIR=$tree Scripts/install.sh

put() { install -D -m 644 "$1" "$tree/$2"; } # file, path
put Packaging/routes.json etc/switchyard/routes.json
put Packaging/switchyard.service lib/systemd/system/switchyard.service
put Packaging/switchyard.socket lib/systemd/system/switchyard.socket
put LICENSE usr/share/doc/switchyard/copyright
put README.md usr/share/doc/switchyard/README.md
for page in docs/*.md; do put "$page" "usr/share/doc/switchyard/$page"; done
put CHANGELOG.md usr/share/doc/switchyard/changelog
gzip -9n "$tree/usr/share/doc/switchyard/changelog" "$tree/usr/share/man/man1/switchyard.1"

# --- The dependencies: libraries that are linked, and those that are loaded by name when they are needed.

mapfile -t files < <(find "$tree/usr" -type f \( -path '*/bin/*' -o -name '*.so' \) | sort)
# Only the module of NATS loads this library, so the package suggests it.
suggested='^libnats\.so'
suggests=
# The modules load either library of these names, so the package depends on either.
either='libcurl4 | libcurl3-gnutls'
brought='^(libcurl|libcurl-gnutls)\.so'
names() {
    local file
    for file in "${files[@]}"; do
        readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
        LC_ALL=C grep -aoE 'lib[a-zA-Z0-9_+-]+\.so(\.[0-9]+)+' "$file" | grep -vE "$brought" || true
    done | sort -u
}

# package_of NAME: prints the Debian package that contains this library.
system_libraries=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p)
package_of() {
    local path found
    path=$(awk -v name="$1" '$1 == name { print $NF; exit }' <<<"$system_libraries")
    [ -n "$path" ] || return 1
    # If /lib is a link to /usr/lib, dpkg may know the file by either path.
    for found in "$path" "$(realpath "$path")" "${path#/usr}" "/usr$path"; do
        if dpkg-query -S "$found" 2>/dev/null | head -n 1 | sed 's/:.*//' | grep .; then return 0; fi
    done
    return 1
}

declare -A packages=()
while read -r name; do
    [ ! -e "$tree/usr/lib/switchyard/$name" ] || continue
    package=$(package_of "$name") || {
        say "$name is needed, but no installed package contains it; Scripts/packages.sh build installs the missing packages"
        exit 69
    }
    if [[ $name =~ $suggested ]]; then suggests=$'\n'"Suggests: $package"; else packages[$package]=yes; fi
done < <(names)

# The newest symbol that is used from the C library gives the required version.
glibc=$(for file in "${files[@]}"; do readelf -VW "$file" | grep -oE 'GLIBC_[0-9.]+' || true; done | sed 's/GLIBC_//' | sort -uV | tail -n 1)
depends=()
for package in "${!packages[@]}"; do
    case $package in
        libc6) depends+=("libc6 (>= $glibc)") ;;
        *) depends+=("$package") ;;
    esac
done
depends+=("$either")
depends=$(printf '%s\n' "${depends[@]}" | sort -u | sed ':a;N;$!ba;s/\n/, /g')

# --- The package.

version=$(sed -n 's/^public let version = "\(.*\)"$/\1/p' Sources/Command/Terminal/Version.swift)
architecture=$(dpkg --print-architecture)
package=$output/switchyard_${version}_$architecture.deb
cat >"$tree/DEBIAN/control" <<CONTROL
Package: switchyard
Version: $version
Architecture: $architecture
Maintainer: The Switchyard authors <switchyard@localhost>
Section: net
Priority: optional
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$tree" | cut -f 1)
Depends: $depends
Recommends: ca-certificates$suggests
Description: telemetry router with consent and durable delivery
 Events arrive as JSON over HTTP, from files or through a pipe. Each route of
 routes.json decides by filter, consent and sample whether it takes an event,
 edits its copy and passes it to its providers. Providers are modules that are
 loaded at run time.
CONTROL
echo /etc/switchyard/routes.json >"$tree/DEBIAN/conffiles"
install -m 755 Packaging/postinst Packaging/prerm Packaging/postrm "$tree/DEBIAN/"
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -print0 | sort -z | xargs -0 md5sum | sed 's|  \./|  |') >"$stage/md5sums"
install -m 644 "$stage/md5sums" "$tree/DEBIAN/md5sums"
chmod -R go-w "$tree"

# All files get the time of the last commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --build "$tree" "$stage/package.deb" >/dev/null
mv -f "$stage/package.deb" "$package"
say "built $package, which depends on $depends"
