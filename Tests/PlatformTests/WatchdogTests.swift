// Threads that hang, and values that are counted by how large they are.

import Testing

@testable import Platform

private final class HandClock: Sendable {
    private let time = Monitor(Int64(1_000_000_000))
    var clock: Clock { Clock(now: { Instant(nanoseconds: self.time.withLock { $0 }) }, wall: { self.time.withLock { $0 } }) }
    func advance(_ duration: Duration) { time.withLock { $0 += duration.nanoseconds } }
}

@Suite("The watchdog of a process")
struct WatchdogTests {
    @Test("name who has been at one piece of work for too long, until it ends")
    func stuck() {
        let time = HandClock()
        let watchdog = Watchdog(clock: time.clock)
        let first = watchdog.heartbeat("first")
        let second = watchdog.heartbeat("second")
        first.begin()
        time.advance(.seconds(5))
        second.begin()
        time.advance(.seconds(5))
        #expect(watchdog.stuck(longer: .seconds(8)) == ["first"])
        #expect(watchdog.stuck(longer: .seconds(10)) == [], "it must be longer")
        first.end()
        second.beat { #expect(watchdog.stuck(longer: .seconds(1)) == []) }
        time.advance(.seconds(60))
        #expect(watchdog.stuck(longer: .seconds(1)) == [], "who waits is not stuck")
    }

    @Test("forget those that nobody keeps")
    func forgotten() {
        let time = HandClock()
        let watchdog = Watchdog(clock: time.clock)
        var heartbeat: Watchdog.Heartbeat? = watchdog.heartbeat("gone")
        heartbeat?.begin()
        time.advance(.seconds(60))
        #expect(watchdog.stuck(longer: .seconds(1)) == ["gone"])
        heartbeat = nil
        #expect(watchdog.stuck(longer: .seconds(1)) == [])
    }
}

@Suite("A histogram")
struct HistogramTests {
    @Test("counts a value under the first bound that it does not exceed")
    func bounds() {
        var histogram = Histogram(bounds: [1, 10])
        for value: Int64 in [0, 1, 2, 10, 11] { histogram.note(value) }
        histogram.note(5, count: 3)
        #expect(histogram.counts == [2, 5, 1])
        #expect(histogram.total == 8 && histogram.sum == 39)
    }
}
