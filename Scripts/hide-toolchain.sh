# Defines `run COMMAND...`, which runs a command in an empty environment with the toolchain hidden, so that nothing of it can be used. Sets
# `is_hidden` to yes or no, `hidden` to the folder, and `how` to words about it. Needs swiftc in PATH. Source it: . Scripts/hide-toolchain.sh

# Hide the root of the toolchain, or only its runtime if the toolchain is installed in /usr.
resources=$(swiftc -print-target-info | sed -n 's/^ *"runtimeResourcePath": "\(.*\)".*/\1/p')
hidden=${resources%/usr/lib/swift}
if [ -z "$hidden" ] || [ "$hidden" = "$resources" ]; then hidden=$resources; fi

# The command checks that the folder is really empty, because otherwise the check could pass with nothing hidden.
inside='mount -t tmpfs none "$1" && [ -z "$(ls -A "$1")" ] && shift && exec "$@"'
if [ "$(id -u)" -eq 0 ]; then masked=(unshare -m); else masked=(unshare -rm); fi
if "${masked[@]}" sh -c "$inside" sh "$hidden" true 2>/dev/null; then
    run() { "${masked[@]}" sh -c "$inside" sh "$hidden" env -i "$@"; }
    is_hidden=yes
    how="with $hidden hidden"
else
    run() { env -i "$@"; }
    is_hidden=no
    how="($hidden could not be hidden, because this user may not mount)"
fi
