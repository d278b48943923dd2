// Tests locks, waiting threads, and threads.

import Glibc
import Platform
import Testing

private struct Refusal: Error, Equatable {}

@Suite("A monitor")
struct MonitorTests {
    @Test("lets one thread at a time change its value")
    func exclusive() {
        let count = Monitor(0)
        let threads = Monitor(0)
        for number in 0..<4 {
            Thread.start("count \(number)") {
                for _ in 0..<10_000 { count.withLock { $0 += 1 } }
                threads.withLock { $0 += 1 }
                threads.wake()
            }.detach()
        }
        threads.wait { $0 < 4 }
        #expect(count.withLock { $0 } == 40_000)
    }

    @Test("is free again after a body that throws, and keeps what the body changed")
    func throwing() {
        let value = Monitor(1)
        #expect(throws: Refusal.self) {
            try value.withLock { (value) throws(Refusal) in
                value = 2
                throw Refusal()
            }
        }
        #expect(value.withLock { $0 } == 2)
    }

    @Test("returns the result of the first attempt that is ready, and does not wait for it")
    func ready() {
        let value = Monitor(5)
        let attempts = Monitor(0)
        let result = value.waitUntilReady { value -> Readiness<Int> in
            attempts.withLock { $0 += 1 }
            value += 1
            return .ready(value)
        }
        #expect(result == 6 && attempts.withLock { $0 } == 1)
        value.wait { $0 != 6 }
    }

    @Test("tries again when it is woken, and only the value decides")
    func woken() {
        let steps = Monitor<[String]>([])
        let thread = Thread.start("waiter") {
            steps.waitUntilReady { steps -> Readiness<Void> in
                if steps.isEmpty { steps.append("waits") }
                if steps.count < 3 { return .notBefore(nil) }
                steps.append("done")
                return .ready(())
            }
            steps.wake()
        }
        // The value can change only while the waiting thread has released it.
        for step in ["one", "two"] {
            steps.waitUntilReady { steps -> Readiness<Void> in
                guard !steps.isEmpty else {
                    sched_yield()
                    return .notBefore(Clock.system.now())
                }
                steps.append(step)
                return .ready(())
            }
            steps.wakeOne()
        }
        thread.join()
        #expect(steps.withLock { $0 } == ["waits", "one", "two", "done"])
    }

    @Test("wakes every waiting thread")
    func all() {
        let state = Monitor((waiting: 0, isOpen: false, passed: 0))
        for number in 0..<3 {
            Thread.start("waiter \(number)") {
                state.withLock { $0.waiting += 1 }
                state.wake()
                state.wait { !$0.isOpen }
                state.withLock { $0.passed += 1 }
                state.wake()
            }.detach()
        }
        state.wait { $0.waiting < 3 }
        state.withLock { $0.isOpen = true }
        state.wake()
        state.wait { $0.passed < 3 }
        #expect(state.withLock { $0.passed } == 3)
    }

    @Test("tries again at the given time without being woken, and not before it")
    func timed() {
        let value = Monitor(0)
        let until = Clock.system.now() + .milliseconds(2)
        value.waitUntilReady { _ -> Readiness<Void> in Clock.system.now() >= until ? .ready(()) : .notBefore(until) }
        #expect(Clock.system.now() >= until)
        // A time that has passed, and the first time of the clock, do not wait.
        for past in [until, Instant(nanoseconds: 0)] {
            let isSecond = Monitor(false)
            value.waitUntilReady { _ -> Readiness<Void> in
                let wasTried = isSecond.withLock { isSecond in
                    defer { isSecond = true }
                    return isSecond
                }
                return wasTried ? .ready(()) : .notBefore(past)
            }
        }
    }

    @Test("waits until the last instant of the clock as for ever, and can be woken")
    func farAway() {
        let value = Monitor(0)
        let attempts = Monitor(0)
        let thread = Thread.start("waiter") {
            value.waitUntilReady { value -> Readiness<Void> in
                attempts.withLock { $0 += 1 }
                attempts.wake()
                return value > 0 ? .ready(()) : .notBefore(Instant(nanoseconds: .max))
            }
        }
        attempts.wait { $0 == 0 }
        value.withLock { $0 = 1 }
        value.wake()
        thread.join()
        #expect(attempts.withLock { $0 } >= 1)
    }

    @Test("can hold a value that cannot be copied")
    func noncopyable() throws {
        let ends = try makePipe()
        close(ends.writing)
        let value = Monitor(Descriptor(owning: ends.reading))
        #expect(value.withLock { $0.number } == ends.reading)
    }
}

@Suite("A thread")
struct ThreadTests {
    @Test("runs its body once, beside its maker, and has ended after a join")
    func join() {
        let runs = Monitor<[pthread_t]>([])
        let thread = Thread.start("once") { runs.withLock { $0.append(pthread_self()) } }
        thread.join()
        #expect(runs.withLock { $0.count } == 1)
        #expect(runs.withLock { pthread_equal($0[0], pthread_self()) } == 0)
    }

    @Test("has its name, cut to 15 bytes", arguments: [("short", "short"), ("sixteen bytes ab", "sixteen bytes a"), ("", "")])
    func name(given: String, kept: String) {
        let name = Monitor("?")
        let thread = Thread.start(given) {
            var text = [UInt8](repeating: 0, count: 64)
            let file = open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
            let count = read(file, &text, text.count)
            close(file)
            name.withLock { $0 = String(decoding: text.prefix(max(0, count)).dropLast(), as: UTF8.self) }
        }
        thread.join()
        #expect(name.withLock { $0 } == kept)
    }

    @Test("releases its body when it ends")
    func released() {
        final class Token: Sendable {}
        weak var left: Token?
        do {
            let token = Token()
            left = token
            let thread = Thread.start("holder") { _ = token }
            thread.join()
        }
        #expect(left == nil)
    }
}
