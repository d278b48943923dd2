// Signals, taken by a thread of their own: SIGINT and SIGTERM end the run (twice: at once), SIGHUP reopens files.

import Glibc
import Platform
import Router

enum Signals {
    private static let taken: [Int32] = [SIGINT, SIGTERM, SIGHUP]

    /// Before any thread is started: the threads to come leave the signals to the one that waits for them.
    static func prepare() {
        // A reader that left and a file at its limit are answers of the system, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        var set = makeSet()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    static func serve(_ router: Router) {
        Thread.start("signals") {
            var set = makeSet()
            var isEnding = false
            while true {
                var number: Int32 = 0
                guard sigwait(&set, &number) == 0 else { continue }
                if number == SIGHUP {
                    router.reopen()
                } else if isEnding {
                    Console.say("ending at once")
                    router.hurry()
                } else {
                    isEnding = true
                    Console.say("ending: delivering what was read; again to end at once")
                    router.stopReading()
                }
            }
        }.detach()
    }

    private static func makeSet() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in taken { sigaddset(&set, number) }
        return set
    }
}
