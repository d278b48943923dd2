// Signals. A run takes them by a thread of its own: SIGINT and SIGTERM end it (twice: without waiting for providers, three times: at
// once), SIGHUP reopens files and reads the configuration anew. Nothing that the thread does waits for anything, so that it hears the next
// signal whatever hangs: standard error, a disk or a module. A replay takes SIGINT and SIGTERM in the same way. Every other command leaves
// them to the system.

import Glibc
import Platform
import Replaying
import Router

enum Signals {
    fileprivate struct State: Sendable {
        /// What the signals end, a run or a replay; neither: it is still being prepared.
        var router: Router?
        var replay: Replay?
        /// How long what the provider of the replay has in its hands may take.
        var grace = Duration.zero
        /// What else is to be done when the run is told to end; it must not wait.
        var ending: @Sendable () -> Void = {}
        var reload: @Sendable () -> Void = {}
        var say = Console.say
        /// How often it was told to end.
        var ends = 0
        /// What is being done and said on account of that, by other threads.
        var underWay = 0
        /// How many reopenings were asked for since one began.
        var reopens = 0
    }
    private static let taken: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let state = Monitor(State())

    /// A reader that left and a file at its limit are answers of the system, not the end of the process.
    static func ignoreFailedWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Before any other thread is started: the threads to come leave the signals to the one that waits for them.
    static func take() {
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

    /// From now on the signals are the router's.
    static func serve(
        _ router: Router, ending: @escaping @Sendable () -> Void, reload: @escaping @Sendable () -> Void,
        say: @escaping @Sendable (String) -> Void
    ) {
        state.withLock { state in
            state.router = router
            state.ending = ending
            state.reload = reload
            state.say = say
        }
    }

    /// From now on SIGINT and SIGTERM end the replay.
    static func serve(_ replay: Replay, within time: Duration, say: @escaping @Sendable (String) -> Void) {
        state.withLock { state in
            (state.replay, state.grace) = (replay, time)
            state.say = say
        }
    }

    /// Ends a run as the first signal would, unless one has already.
    static func end() {
        if state.withLock({ $0.ends == 0 }) { act(on: SIGTERM) }
    }

    /// Gives a moment to what is still being said, so that the end of the process does not cut it off.
    static func settle() {
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
                say(isFirst ? "ending: delivering what was read; again to end at once" : "ending at once")
            }
        } else if let replay {
            replay.stop(within: isFirst ? grace : .zero)
            aside {
                say(
                    isFirst
                        ? "ending: nothing more is sent, what the provider has in its hands is awaited; again to end at once"
                        : "ending at once")
            }
        }
    }

    private static func aside(_ body: @escaping @Sendable () -> Void) {
        Thread.start("ending") {
            body()
            state.withLock { $0.underWay -= 1 }
            state.wake()
        }.detach()
    }

    /// One thread at a time; what is asked for in the meantime is done once more.
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

    /// As if nobody had taken the signal. nohup has SIGHUP ignored, and that stays.
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
    /// How many were asked for, when that is more than was done; else there are none any more.
    fileprivate mutating func reopens(after done: Int) -> Int? {
        if reopens > done { return reopens }
        reopens = 0
        return nil
    }
}
