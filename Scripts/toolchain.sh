# Puts a Swift that is new enough on PATH, or reports what is missing. Source it:  . Scripts/toolchain.sh
# It never downloads a toolchain, because the owner of the machine chooses one.

swift_wanted=6.3
swift_places="/opt/swift/usr/bin /usr/local/swift/usr/bin /usr/libexec/swift/bin ${HOME:-/root}/.local/share/swiftly/bin"

if ! command -v swift >/dev/null; then
    for swift_place in $swift_places; do
        if [ -x "$swift_place/swift" ]; then
            echo "switchyard: swift is not on PATH; using $swift_place/swift" >&2
            PATH="$swift_place:$PATH"
            export PATH
            break
        fi
    done
fi

if ! command -v swift >/dev/null; then
    echo "switchyard: Swift was not found on PATH or in $swift_places" >&2
    echo "switchyard: Swift $swift_wanted or newer is needed: https://www.swift.org/install/linux/" >&2
    exit 69
fi

# "Swift version 6.3.1 (swift-6.3.1-RELEASE)": the first number of two parts is the version.
swift_found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
if [ -z "$swift_found" ]; then
    echo "switchyard: $(command -v swift) does not run: 'swift --version' printed no version" >&2
    exit 69
fi
if [ "$(printf '%s\n' "$swift_wanted" "$swift_found" | sort -V | head -n 1)" != "$swift_wanted" ]; then
    echo "switchyard: $(command -v swift) is Swift $swift_found; $swift_wanted or newer is needed: https://www.swift.org/install/linux/" >&2
    exit 69
fi
