#!/usr/bin/env bash
# Runs every suite, with the modules that the tests load, under a sanitizer; before it, the planted bugs that it must find.
#
# usage: Scripts/sanitize.sh thread|address [more arguments for swift test]
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizer=${1-}
case $sanitizer in
    thread)
        # The modules find the sanitizer's functions in the executable that loads them.
        options=(--sanitize=thread -Xlinker --export-dynamic)
        # One race has two names, by which of its two accesses the sanitizer sees first.
        planted=("race:ThreadSanitizer: (data|Swift access) race")
        export TSAN_OPTIONS="halt_on_error=0 second_deadlock_stack=1 ${TSAN_OPTIONS-}"
        ;;
    address)
        options=(--sanitize=address -Xswiftc -use-ld=lld -Xlinker --export-dynamic)
        planted=("useAfterFree:AddressSanitizer: heap-use-after-free" "leak:LeakSanitizer: detected memory leaks")
        export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1 ${ASAN_OPTIONS-}"
        export LSAN_OPTIONS="suppressions=$PWD/Scripts/leaks.txt print_suppressions=0 ${LSAN_OPTIONS-}"
        # Suppressions go by the names of functions.
        symbolizer=$(command -v llvm-symbolizer) && export ASAN_SYMBOLIZER_PATH=$symbolizer
        ;;
    *)
        echo "usage: Scripts/sanitize.sh thread|address [more arguments for swift test]" >&2
        exit 64
        ;;
esac
shift
# XCTest leaks by itself, and there is no test that needs it.
options+=(--disable-xctest)
# The report is the point; a backtrace by the Swift runtime on top of it takes seconds for each bug.
export SWIFT_BACKTRACE=enable=no
# Programs that the tests start get this and the options above, though their environment is otherwise empty.
export SWITCHYARD_SANITIZER=$sanitizer

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for bug in "${planted[@]}"; do
    if swift test --package-path Tests/Planted --scratch-path ".build-$sanitizer/planted" "${options[@]}" --filter "${bug%%:*}" \
        >"$log" 2>&1 </dev/null; then
        status=0
    else
        status=$?
    fi
    if [ $status -eq 0 ] || ! grep -Eq "${bug#*:}" "$log"; then
        tail -n 40 "$log" >&2
        echo "switchyard: the $sanitizer sanitizer is not alive: it did not find the planted bug '${bug%%:*}' (exit $status)" >&2
        exit 70
    fi
    echo "switchyard: the $sanitizer sanitizer found the planted bug '${bug%%:*}'" >&2
done

swift test --scratch-path ".build-$sanitizer" "${options[@]}" "$@" </dev/null
