#!/usr/bin/env bash
# Runs the suites, with the modules that the tests load, under a sanitizer. Before that, the sanitizer must find the planted bugs.
# The address sanitizer runs every suite, but for tests that say themselves that they take too long under it. The thread sanitizer leaves out
# the suites below that start no thread.
#
# usage: Scripts/sanitize.sh thread|address [more arguments for swift test]
set -euo pipefail
cd "$(dirname "$0")/.."

# The suites whose tests call functions of values on one thread, so that there is no race to find.
single=(Admission Amplitude Configuration ConsentCommands Dialects Editing Encoding Events ExpressionKit Expressions GA4 InspectCommands
    JSONSchema Judging Mixpanel OTLP Page PlanTools PostHog Redaction Sampling Segment Sentry Signals Terminal TrackingPlans)

# Prints the other test targets, separated by commas. Fails if one of those above starts a thread.
threaded() {
    local folder name targets=()
    for folder in Tests/*Tests; do
        name=$(basename "$folder")
        if [[ " ${single[*]} " != *" ${name%Tests} "* ]]; then
            targets+=("$name")
        elif grep -rnE '\b(Thread\.start|pthread_create|concurrentPerform|DispatchQueue|TaskGroup)\b' "$folder" >&2; then
            echo "switchyard: the lines above start threads, so '${name%Tests}' does not belong into the list in Scripts/sanitize.sh" >&2
            return 70
        fi
    done
    (IFS=,; echo "${targets[*]}")
}

sanitizer=${1-}
case $sanitizer in
    thread)
        # The modules find the sanitizer's functions in the executable that loads them. The code is not optimised: the sanitizer does not
        # see reference counts, so the inlined change of an array whose copy another thread has released looks like a race to it.
        options=(--sanitize=thread -Xlinker --export-dynamic)
        # The same race has two names, depending on which of its two accesses the sanitizer sees first.
        planted=("race:ThreadSanitizer: (data|Swift access) race")
        SWITCHYARD_TESTS=$(threaded)
        export SWITCHYARD_TESTS
        # Each program would sleep for a second before it exits, and the tests start hundreds of them.
        export TSAN_OPTIONS="halt_on_error=0 second_deadlock_stack=1 atexit_sleep_ms=10 ${TSAN_OPTIONS-}"
        ;;
    address)
        # Optimised code would run in half the time, and takes three times as long to build.
        options=(--sanitize=address -Xswiftc -use-ld=lld -Xlinker --export-dynamic)
        planted=("useAfterFree:AddressSanitizer: heap-use-after-free" "leak:LeakSanitizer: detected memory leaks")
        export ASAN_OPTIONS="detect_leaks=1 detect_stack_use_after_return=1 ${ASAN_OPTIONS-}"
        export LSAN_OPTIONS="suppressions=$PWD/Scripts/leaks.txt print_suppressions=0 ${LSAN_OPTIONS-}"
        # Suppressions need the names of functions, so the symbolizer is needed.
        symbolizer=$(command -v llvm-symbolizer) && export ASAN_SYMBOLIZER_PATH=$symbolizer
        ;;
    *)
        echo "usage: Scripts/sanitize.sh thread|address [more arguments for swift test]" >&2
        exit 64
        ;;
esac
shift
# XCTest leaks memory, and no test needs it.
options+=(--disable-xctest)
# Only the report of the sanitizer matters. A backtrace by the Swift runtime would take some seconds for each bug.
export SWIFT_BACKTRACE=enable=no
# The tests pass this variable and the options above to the programs that they start in an otherwise empty environment.
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
        echo "switchyard: the $sanitizer sanitizer does not work: it did not find the planted bug '${bug%%:*}' (exit $status)" >&2
        exit 70
    fi
    echo "switchyard: the $sanitizer sanitizer found the planted bug '${bug%%:*}'" >&2
done

swift test --scratch-path ".build-$sanitizer" "${options[@]}" "$@" </dev/null
