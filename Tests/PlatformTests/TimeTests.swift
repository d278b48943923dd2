// Tests the arithmetic of times up to its limits, and the clocks of the system.

import Glibc
import Platform
import Testing

/// The longest and the shortest duration whose nanoseconds fit into 64 bits, and durations beyond both.
private let longest = Duration.nanoseconds(Int64.max)
private let lowest = Duration.nanoseconds(Int64.min)
private let beyond = Duration.seconds(Int64.max)
private let below = Duration.seconds(Int64.min)

@Suite("An instant")
struct InstantTests {
    private func at(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }

    @Test("plus a duration is a later instant, and the difference of both is the duration")
    func sums() {
        #expect(at(5) + .nanoseconds(7) == at(12) && at(5) + .nanoseconds(-7) == at(-2))
        #expect(at(1) + .seconds(2) + .milliseconds(3) == at(2_003_000_001))
        #expect(at(12) - at(5) == .nanoseconds(7) && at(5) - at(12) == .nanoseconds(-7))
        #expect(at(4) < at(5) && !(at(5) < at(5)) && at(.min) < at(.max))
    }

    @Test("plus a duration beyond the end of the clock is its last instant")
    func last() {
        #expect(at(.max) + .nanoseconds(1) == at(.max) && at(1) + longest == at(.max))
        #expect(at(.max - 1) + .nanoseconds(1) == at(.max) && at(0) + beyond == at(.max))
        #expect(at(-1) + beyond == at(.max - 1), "a duration is limited to what fits in nanoseconds")
    }

    @Test("plus a negative duration beyond the beginning of the clock is its first instant")
    func first() {
        #expect(at(.min) + .nanoseconds(-1) == at(.min) && at(-2) + lowest == at(.min))
        #expect(at(.min + 1) + .nanoseconds(-1) == at(.min) && at(0) + below == at(.min))
    }

    @Test("has an exact difference to every other instant, also where 64 bits of nanoseconds are too few")
    func differences() {
        let whole: Duration = at(.max) - at(.min)
        let back: Duration = at(.min) - at(.max)
        let one = Duration.nanoseconds(Int64(1))
        #expect(whole == longest + longest + one)
        #expect(back == .zero - whole)
        let half: Duration = at(0) - at(.min)
        #expect(half == longest + one)
        let more: Duration = at(.max) - at(-1)
        #expect(more > longest)
        #expect(whole.nanoseconds == Int64.max && back.nanoseconds == Int64.min)
    }
}

@Suite("A duration in nanoseconds")
struct DurationTests {
    @Test("is exact up to 292 years, and cuts off smaller parts towards zero")
    func exact() {
        #expect(Duration.seconds(2).nanoseconds == 2_000_000_000 && Duration.zero.nanoseconds == 0)
        #expect(longest.nanoseconds == Int64.max && lowest.nanoseconds == Int64.min)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999).nanoseconds == 1)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999).nanoseconds == -1)
        #expect(Duration(secondsComponent: -1, attosecondsComponent: -500_000_000_000_000_000).nanoseconds == -1_500_000_000)
    }

    @Test("is limited beyond, by its seconds as well as by their fraction")
    func limited() {
        #expect(beyond.nanoseconds == Int64.max && below.nanoseconds == Int64.min)
        #expect((longest + .nanoseconds(Int64(1))).nanoseconds == Int64.max)
        #expect((lowest - .nanoseconds(Int64(1))).nanoseconds == Int64.min)
        #expect(Duration.seconds(Int64(9_223_372_037)).nanoseconds == Int64.max)
        #expect(Duration.seconds(Int64(-9_223_372_037)).nanoseconds == Int64.min)
    }
}

@Suite("The clock of the system")
struct ClockTests {
    @Test("never goes back, and tells the time of the year")
    func system() {
        let clock = Clock.system
        let first = clock.now()
        #expect(first > Instant(nanoseconds: 0) && clock.now() >= first)
        // The calendar time of the C library has the same beginning; its seconds are whole.
        let before = Int64(time(nil)) - 2
        #expect(clock.wall() >= before * 1_000_000_000)
        #expect(clock.wall() / 1_000_000_000 - before < 86_400)
    }

    @Test("of the processor advances with work")
    func processor() {
        let before = Clock.processorTime()
        #expect(before > 0)
        var sum: UInt64 = 0
        while Clock.processorTime() <= before { sum &+= 1 }
        #expect(Clock.processorTime() > before)
    }

    @Test("is the one that its maker gives")
    func given() {
        let clock = Clock(now: { Instant(nanoseconds: 7) }, wall: { 9 })
        #expect(clock.now() == Instant(nanoseconds: 7) && clock.wall() == 9)
    }
}
