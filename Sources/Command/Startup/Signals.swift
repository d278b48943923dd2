// Handles signals. A run takes them on its own thread. SIGINT and SIGTERM end the run; a second one ends it without waiting for providers,
// and a third one ends the process at once. SIGHUP reopens files and reloads the configuration. The signal thread never waits, so that it
// receives the next signal even while standard error, a disk or a module hangs. A replay takes SIGINT and SIGTERM in the same way. Every
// other command leaves signals to the system.

internal import Glibc
public import Platform
public import Replaying
public import Router
internal import Terminal

public enum Signals {
    fileprivate struct State: Sendable {
        /// The run or the replay that the signals end. Both are nil while it is still being prepared.
        var router: Router?
        var replay: Replay?
        /// How long the batches of a replay that are in flight may take.
        var grace = Duration.zero
        /// Called when the run is told to end. It must not wait.
        var ending: @Sendable () -> Void = {}
        var reload: @Sendable () -> Void = {}
        var say = Console.say
        /// The number of times that it was told to end.
        var ends = 0
        /// The number of other threads that still act on such a request.
        var underWay = 0
        /// The number of requests to reopen since the thread that reopens was started. It is 0 if there is no such thread.
        var reopens = 0
    }
    private static let taken: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let state = Monitor(State())

    /// Ignores SIGPIPE and SIGXFSZ, so that a closed pipe or a file at its limit makes a write fail and does not end the process.
    public static func ignoreFailedWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Starts the signal thread. Call this before any other thread starts, so that all later threads leave the signals to it.
    public static func take() {
        var set = makeSet(taken)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        Thread.start("signals") {
            var set = makeSet(taken)
            while true {
                var number: Int32 = 0
                if sigwait(&set, &number) == 0 { act(on: number) }
            }
        }.detach()
    }

    /// From now on, SIGINT and SIGTERM only end the input. Call this before any other thread starts.
    public static func endInput(by stop: WakeUp) {
        var set = makeSet([SIGINT, SIGTERM])
        pthread_sigmask(SIG_BLOCK, &set, nil)
        Thread.start("signals") {
            var set = makeSet([SIGINT, SIGTERM])
            var number: Int32 = 0
            while sigwait(&set, &number) != 0 {}
            stop.raise()
            // A second one ends the process.
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }.detach()
    }

    /// From now on, the signals act on the router.
    public static func serve(
        _ router: Router, ending: @escaping @Sendable () -> Void, reload: @escaping @Sendable () -> Void,
        say: @escaping @Sendable (String) -> Void
    ) {
        state.withLock { state in
            assert(state.router == nil && state.replay == nil, "the signals act on another run already")
            state.router = router
            state.ending = ending
            state.reload = reload
            state.say = say
        }
    }

    /// From now on, SIGINT and SIGTERM end the replay.
    public static func serve(_ replay: Replay, within time: Duration, say: @escaping @Sendable (String) -> Void) {
        state.withLock { state in
            assert(state.router == nil && state.replay == nil, "the signals act on another run already")
            (state.replay, state.grace) = (replay, time)
            state.say = say
        }
    }

    /// Ends a run like the first signal, unless it is already ending.
    static func end() {
        if state.withLock({ $0.ends == 0 }) { act(on: SIGTERM) }
    }

    /// Waits at most one second for messages that other threads still write, so that the end of the process does not cut them off.
    public static func settle() {
        let moment = Clock.system.now() + .seconds(1)
        state.waitUntilReady { state in
            state.underWay == 0 || Clock.system.now() >= moment ? .ready(()) : .notBefore(moment)
        }
    }

    private static func act(on number: Int32) {
        let (router, replay, grace) = state.withLock { ($0.router, $0.replay, $0.grace) }
        if number == SIGHUP, let router { return reopen(router) }
        guard number != SIGHUP, router != nil || replay != nil else { return endByDefault(number) }
        let (count, ending, say) = state.withLock { state in
            state.ends += 1
            if state.ends <= 2 { state.underWay += 1 }
            return (state.ends, state.ending, state.say)
        }
        if count > 2 { _exit(ExitCode.undelivered) }
        let isFirst = count == 1
        if let router {
            if isFirst {
                ending()
                router.stopReading()
            }
            aside {
                if !isFirst { router.hurry() }
                say(isFirst ? "ending: delivering what was read; signal again to end at once" : "ending at once")
            }
        } else if let replay {
            replay.stop(within: isFirst ? grace : .zero)
            aside {
                say(
                    isFirst
                        ? "ending: sending nothing more, waiting for batches in flight; signal again to end at once"
                        : "ending at once")
            }
        }
    }

    private static func aside(_ body: @escaping @Sendable () -> Void) {
        Thread.start("ending") {
            body()
            state.withLock { state in
                assert(state.underWay > 0, "a request has ended that did not begin")
                state.underWay -= 1
            }
            state.wake()
        }.detach()
    }

    /// Reopens on one thread at a time. Requests that come meanwhile are served by one more reopening.
    private static func reopen(_ router: Router) {
        let isFirst = state.withLock { state in
            state.reopens += 1
            return state.reopens == 1
        }
        guard isFirst else { return }
        Thread.start("reopening") {
            var done = 0
            while let asked = state.withLock({ $0.reopens(after: done) }) {
                router.reopen()
                state.withLock { $0.reload }()
                done = asked
            }
        }.detach()
    }

    /// Handles the signal as if it were not taken. If nohup has set SIGHUP to be ignored, it stays ignored.
    private static func endByDefault(_ number: Int32) {
        if number != SIGHUP { signal(number, SIG_DFL) }
        var set = makeSet([number])
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), number)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func makeSet(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }
}

extension Signals.State {
    /// Returns the number of requests if some are still to be done. Otherwise it resets the number and returns nil.
    fileprivate mutating func reopens(after done: Int) -> Int? {
        if reopens > done { return reopens }
        reopens = 0
        return nil
    }
}
