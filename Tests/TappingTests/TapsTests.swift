import Admission
import Expressions
import Plans
import Platform
import TestSupport
import Testing

@testable import Tapping

private func request(_ stage: TapStage = .in, _ change: (inout TapRequest) -> Void = { _ in }) -> TapRequest {
    var request = TapRequest(stage)
    change(&request)
    return request
}

private func event(_ text: String, arrival: Int64 = 0, subject: UInt64 = 1) -> TappedEvent {
    TappedEvent(
        line: Array(text.utf8), arrival: arrival, subjects: [SubjectKey(high: subject, low: 0)],
        origin: .lane(provider: "p", route: "r", answer: nil, reason: nil))
}

private func texts(_ taken: Taps.Taken?) -> [String]? { taken?.events.map { String(decoding: $0.line, as: UTF8.self) } }

@Suite("Taps") struct TapsTests {
    private let time = ManualClock()

    @Test("a stage is looked at while a tap of it is open, and not before or after")
    func looks() throws {
        let taps = Taps(clock: time.clock)
        #expect(!taps.looksAtRoutes && !taps.looks(at: .sent))
        let tap = try #require(taps.open(request(.sent), user: 7))
        #expect(!taps.looksAtRoutes && taps.looks(at: .sent) && !taps.looks(at: .dead))
        let other = try #require(taps.open(request(.denied), user: 7))
        #expect(taps.looksAtRoutes && taps.lookingAtRoutes.map(\.tap) == [other])
        taps.close(tap, user: 7)
        taps.close(other, user: 7)
        #expect(!taps.looksAtRoutes && !taps.looks(at: TapStage.allCases))
    }

    @Test("events that do not fit are counted and not kept, and the room is free again when they were taken")
    func bounded() throws {
        let taps = Taps(clock: time.clock)
        let tap = try #require(taps.open(request(), user: nil))
        taps.add((0..<300).map { event("\($0)") }, dropped: 5, to: tap)
        let taken = try #require(taps.take(tap, user: nil))
        #expect(taken.events.count == 256 && taken.dropped == 49)
        #expect(taps.lookingAtRoutes[0].room.events == 256)
        taps.add([event(String(repeating: "x", count: 1 << 20)), event("y")], dropped: 0, to: tap)
        time.advance(Taps.pause)
        let large = try #require(taps.take(tap, user: nil))
        #expect(large.events.count == 1 && large.dropped == 1)
    }

    @Test("a tap with a condition may have more events that wait")
    func searching() throws {
        let taps = Taps(clock: time.clock)
        let condition = try Expression.condition("true")
        let tap = try #require(taps.open(request { $0.condition = condition }, user: nil))
        #expect(taps.lookingAtRoutes.first { $0.tap == tap }?.room.events == 2048)
    }

    @Test("no more than four taps are open at once")
    func most() {
        let taps = Taps(clock: time.clock)
        let opened = (0..<6).map { _ in taps.open(request(), user: nil) }
        #expect(opened == [1, 2, 3, 4, nil, nil])
        taps.close(2, user: nil)
        #expect(taps.open(request(), user: nil) == 5)
    }

    @Test("a tap that nobody asks ends, and one that somebody asks goes on")
    func expiry() throws {
        let taps = Taps(clock: time.clock)
        let (left, asked) = (try #require(taps.open(request(.sent), user: nil)), try #require(taps.open(request(.dead), user: nil)))
        time.advance(.seconds(9))
        taps.add([event("x")], dropped: 0, to: asked)
        #expect(taps.take(asked, user: nil) != nil)
        time.advance(.seconds(2))
        let next = taps.expire()
        #expect(next == time.clock.now() + .seconds(8))
        #expect(!taps.looks(at: .sent) && taps.looks(at: .dead))
        #expect(taps.take(left, user: nil) == nil)
    }

    @Test("another user cannot read or end a tap")
    func users() throws {
        let taps = Taps(clock: time.clock)
        let tap = try #require(taps.open(request(), user: 1))
        taps.add([event("x")], dropped: 0, to: tap)
        #expect(taps.take(tap, user: 2) == nil && taps.take(tap, user: nil) == nil)
        taps.close(tap, user: 2)
        #expect(texts(taps.take(tap, user: 1)) == ["x"])
    }

    @Test("what was captured of a person is neither kept nor shown after a withdrawal")
    func withdrawn() throws {
        let gone = Monitor<Set<UInt64>>([])
        let taps = Taps(clock: time.clock) { arrival, subjects in
            gone.withLock { gone in subjects.contains { gone.contains($0.high) } && arrival < 10 }
        }
        let tap = try #require(taps.open(request(), user: nil))
        taps.add([event("ann", subject: 1), event("bob", subject: 2), event("later ann", arrival: 11, subject: 1)], dropped: 0, to: tap)
        gone.withLock { $0 = [1] }
        taps.forgetWithdrawn()
        #expect(taps.lookingAtRoutes[0].room.events == 254)
        let taken = try #require(taps.take(tap, user: nil))
        #expect(texts(taken) == ["bob", "later ann"])
        // A withdrawal that comes while the lines are made counts too.
        gone.withLock { $0 = [2] }
        #expect(taps.pass(tap, taken.events) == [false, true])
    }

    @Test("a tap with a limit shows so many events and ends")
    func limit() throws {
        let taps = Taps(clock: time.clock)
        let tap = try #require(taps.open(request(.in) { $0.limit = 3 }, user: nil))
        #expect(taps.pass(tap, [event("a"), event("b")]) == [true, true])
        #expect(taps.looksAtRoutes)
        #expect(taps.pass(tap, [event("c"), event("d")]) == [true, false])
        #expect(!taps.looksAtRoutes)
    }

    @Test("after the end of the router, what was captured is shown, and then the tap is over")
    func ends() throws {
        let taps = Taps(clock: time.clock)
        let tap = try #require(taps.open(request(), user: nil))
        taps.add([event("last")], dropped: 0, to: tap)
        taps.end()
        #expect(texts(taps.take(tap, user: nil)) == ["last"])
        #expect(taps.take(tap, user: nil) == nil)
        #expect(taps.open(request(), user: nil) == nil)
    }

    @Test("a request for a provider counts the routes to it, and one for both demands both")
    func selection() {
        var plan = Plan()
        plan.providers = ["p", "q"].map { ProviderPlan(name: $0, plugin: "noop", settings: Secret([])) }
        plan.routes = [("a", [0]), ("b", [0, 1]), ("c", [1])].map { name, providers in
            var route = RoutePlan(name: name)
            route.providers = providers
            return route
        }
        #expect(request().routes(of: plan) == [true, true, true])
        #expect(request { $0.provider = "q" }.routes(of: plan) == [false, true, true])
        #expect(request { ($0.provider, $0.route) = ("q", "c") }.routes(of: plan) == [false, false, true])
        #expect(request { $0.provider = "gone" }.routes(of: plan) == [false, false, false])
    }
}
