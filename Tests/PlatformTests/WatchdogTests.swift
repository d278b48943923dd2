// Tests the detection of threads that hang, and histograms.

import TestSupport
import Testing

@testable import Platform

@Suite("The watchdog of a process")
struct WatchdogTests {
    @Test("names the threads whose task takes too long, until it ends")
    func stuck() {
        let time = ManualClock()
        let watchdog = Watchdog(clock: time.clock)
        let first = watchdog.heartbeat("first")
        let second = watchdog.heartbeat("second")
        first.begin()
        time.advance(.seconds(5))
        second.begin()
        time.advance(.seconds(5))
        #expect(watchdog.stuck(longer: .seconds(8)) == ["first"])
        #expect(watchdog.stuck(longer: .seconds(10)) == [], "the time must be exceeded")
        first.end()
        second.beat { #expect(watchdog.stuck(longer: .seconds(1)) == []) }
        time.advance(.seconds(60))
        #expect(watchdog.stuck(longer: .seconds(1)) == [], "a waiting thread is not stuck")
    }

    @Test("forgets heartbeats that nobody keeps")
    func forgotten() {
        let time = ManualClock()
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
