// Threads that hang, and values that are counted by how large they are.

import Testing

@testable import Platform

private final class HandClock: Sendable {
    private let time = Monitor(Int64(1_000_000_000))
    var clock: Clock { Clock(now: { Instant(nanoseconds: self.time.withLock { $0 }) }, wall: { self.time.withLock { $0 } }) }
    func advance(_ duration: Duration) { time.withLock { $0 += duration.nanoseconds } }
}

@Suite("The vitals of a process")
struct VitalsTests {
    @Test("name who has been at one piece of work for too long, until it ends")
    func stuck() {
        let time = HandClock()
        let vitals = Vitals(clock: time.clock)
        let first = vitals.pulse("first")
        let second = vitals.pulse("second")
        first.begin()
        time.advance(.seconds(5))
        second.begin()
        time.advance(.seconds(5))
        #expect(vitals.stuck(longer: .seconds(8)) == ["first"])
        #expect(vitals.stuck(longer: .seconds(10)) == [], "it must be longer")
        first.end()
        second.beat { #expect(vitals.stuck(longer: .seconds(1)) == []) }
        time.advance(.seconds(60))
        #expect(vitals.stuck(longer: .seconds(1)) == [], "who waits is not stuck")
    }

    @Test("forget those that nobody keeps")
    func forgotten() {
        let time = HandClock()
        let vitals = Vitals(clock: time.clock)
        var pulse: Vitals.Pulse? = vitals.pulse("gone")
        pulse?.begin()
        time.advance(.seconds(60))
        #expect(vitals.stuck(longer: .seconds(1)) == ["gone"])
        pulse = nil
        #expect(vitals.stuck(longer: .seconds(1)) == [])
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
