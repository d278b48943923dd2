import Admission
import ConsentGate
import Events
import Judging
import Ledger
import Plans
import Platform
import TestSupport
import Testing

@testable import Router
@testable import Workers

@Suite("A decision in the stream")
struct StreamConsentTests {
    @Test("holds for the later lines of its block until the next decision, and for no line before it")
    func withinBlock() throws {
        let fixture = try StreamFixture()
        let names = fixture.turn(
            fixture.block(
                event("u", "1"), says("u", grants), event("u", "2"), event("v", "3"), says("u", withdraws), event("u", "4"),
                says("u", grants), event("u", "5"), says("u", #"{"denied":["analytics"]}"#), event("u", "6")))
        #expect(names == ["2", "5"])
        #expect(try fixture.ledger.terms("u") == ConsentTerms(level: "standard", denied: ["analytics"]))
    }

    @Test("that withdraws holds for later lines even if another worker has already judged them")
    func overtaken() throws {
        let fixture = try StreamFixture()
        for id in ["u", "v"] { try fixture.ledger.set(id, ConsentTerms(level: "standard")) }
        let first = fixture.block(event("u", "1"), says("u", withdraws), event("u", "2"))
        let second = fixture.block(event("u", "3"), event("v", "4"))
        #expect(second.admitted == ["3", "4"], "the block was judged before the turn of the withdrawal")
        #expect(fixture.turn(first) == ["1"])
        #expect(fixture.turn(second) == ["4"])
        #expect(try fixture.ledger.receipts() == 1 && fixture.destroyed.withLock { $0 } == [1])
    }

    @Test("that withdraws has a time after the lines before it and before the lines after it, even if consent is granted again")
    func anew() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let first = fixture.block(event("u", "1"), says("u", withdraws), says("u", grants), event("u", "2"))
        let second = fixture.block(event("u", "3"))
        #expect(fixture.turn(first) == ["1", "2"] && fixture.turn(second) == ["3"])
        let time = try fixture.ledger.withdrawn()
        // These are the first line and the last one. The route takes no consent events.
        #expect(first.arrivals.map { $0 <= time } == [true, false])
        #expect(second.arrivals.map { $0 <= time } == [false])
        #expect(fixture.block(event("u", "4")).arrivals.map { $0 <= time } == [false])
    }

    @Test("that withdrew under a clock that was ahead gives no later line a time in the future once the clock is believed")
    func clockAhead() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        fixture.ledger.ahead.withLock { $0 = 1_000_000_000_000_000 }
        fixture.turn(fixture.block(event("u", "1"), says("u", withdraws)))
        fixture.ledger.ahead.withLock { $0 = 0 }
        try fixture.ledger.registry.use { (file) throws(StorageFault) in
            try file.believeClock()
            return ((), [])
        }
        fixture.turn(fixture.block(says("u", grants)))
        let later = fixture.block(event("u", "2"))
        #expect(fixture.turn(later) == ["2"])
        #expect(later.arrivals.allSatisfy { $0 <= Clock.system.wall() })
    }

    @Test("that grants holds for later lines even if another worker has already denied them")
    func grantOvertaken() throws {
        let fixture = try StreamFixture()
        let first = fixture.block(says("u", grants))
        let second = fixture.block(event("u", "1"), says("u", withdraws), event("u", "2"))
        let third = fixture.block(event("u", "3"))
        fixture.turn(first)
        #expect(fixture.turn(second) == ["1"])
        #expect(fixture.turn(third) == [])
    }

    @Test("never holds for lines before it, no matter which worker is faster")
    func before() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let first = fixture.block(event("u", "1"))
        let second = fixture.block(says("u", withdraws))
        #expect(fixture.turn(first) == ["1"])
        fixture.turn(second)
        #expect(fixture.take(event("u", "2")) == [])
    }

    @Test("about another subject leaves a block as it was judged")
    func others() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("v", ConsentTerms(level: "standard"))
        let first = fixture.block(says("u", grants))
        let second = fixture.block(event("v", "1"))
        fixture.turn(first)
        // This decision is on record, but it did not come in the stream. A block that is not judged again ignores it.
        try fixture.ledger.set("v", .withdrawn)
        #expect(fixture.turn(second) == ["1"])
    }

    @Test("does not make events that are judged again count twice against a limit")
    func limits() throws {
        let fixture = try StreamFixture(
            streamPlan { plan in
                plan.routes[0].sample = SamplePlan(rate: 1)
                plan.routes[0].sample?.limit = LimitPlan(EventRate(perDay: 1), burst: 3)
            })
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let first = fixture.block(event("u", "1"), says("u", #"{"level":"standard","version":"2"}"#))
        let second = fixture.block(event("u", "2"), event("u", "3"))
        fixture.turn(first)
        #expect(fixture.turn(second) == ["2", "3"])
        // The first event has used one of the three. The consent event has used none, since the route does not take it.
        #expect(fixture.take(event("u", "4")) == [])
    }

    @Test("does not make an event that is judged again a duplicate, but a real duplicate stays one")
    func duplicates() throws {
        let fixture = try StreamFixture(streamPlan { $0.messageID.deduplicate = MessageIDPlan.Deduplication() })
        let first = fixture.block(says("u", grants))
        let second = fixture.block(
            event("u", "1", #","messageId":"m1""#), event("u", "2", #","messageId":"m1""#), event("u", "3", #","messageId":"m3""#))
        fixture.turn(first)
        #expect(fixture.turn(second) == ["1", "3"])
        #expect(second.tally.duplicates == 1 && second.tally.events == 2 && second.sightings == 2)
        #expect(fixture.take(event("u", "4", #","messageId":"m3""#)) == [])
    }

    @Test("does not make invalid lines count twice in a block that is judged again")
    func faults() throws {
        let fixture = try StreamFixture()
        let first = fixture.block(says("u", grants))
        let second = fixture.block("{", event("u", "1"), says("u", withdraws), "}", event("u", "2"))
        fixture.turn(first)
        #expect(fixture.turn(second) == ["1"])
        #expect(second.faults.map(\.line) == [1, 4] && second.lines == 5 && second.tally.events == 3)
    }

    private let identify = #"{"type":"identify","userId":"u","anonymousId":"a"}"#
    private func device(_ name: String) -> String { #"{"anonymousId":"a","event":"\#(name)"}"# }

    @Test("ties ids by identify and alias, and unties them by reset")
    func ties() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let names = fixture.turn(
            fixture.block(
                device("1"), identify, device("2"), #"{"type":"reset","anonymousId":"a"}"#, device("3"),
                #"{"type":"alias","previousId":"a","userId":"u"}"#, device("4"), says("u", withdraws), device("5")))
        #expect(names == ["2", "4"])
    }

    @Test("that ties ids waits for its turn only if they are not tied already")
    func knownTies() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        #expect(fixture.take(identify, device("1")) == ["1"])
        let known = fixture.block(identify, device("2"))
        #expect(!known.isWaiting && fixture.turn(known) == ["2"])
        let reset = fixture.block(#"{"type":"reset","anonymousId":"a"}"#, device("3"))
        let hasty = fixture.block(identify, device("4"))
        #expect(!hasty.isWaiting)
        #expect(fixture.turn(reset) == [])
        #expect(fixture.turn(hasty) == ["4"])
        #expect(try fixture.ledger.effective("a") == [ConsentTerms(level: "standard")])
        #expect(fixture.turn(fixture.block(identify, #"{"type":"reset","anonymousId":"a"}"#, device("5"))) == [])
        #expect(fixture.take(identify, device("6")) == ["6"])
        try fixture.ledger.registry.use { (file) throws(StorageFault) in ((), try file.untie(.init("a"))) }
        #expect(fixture.take(identify, device("7")) == ["7"], "ids that a command untied are tied again")
    }

    @Test("that refuses a purpose leaves the other purposes, no matter which id of the subject it names", arguments: [true, false])
    func refusals(writes: Bool) throws {
        let fixture = try StreamFixture(streamPlan(writes: writes) { $0.routes[0].consent = ConsentDemand(level: 1) })
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let both = #""userId":"u","anonymousId":"a""#
        let refusal = #""consent":{"denied":["analytics"]}"#
        #expect(fixture.take(#"{"type":"consent",\#(both),\#(refusal)}"#, "{\(both),\"event\":\"1\"}") == ["1"])
        #expect(try fixture.ledger.terms("u")?.denied == ["analytics"] && fixture.ledger.terms("a") == nil)
        try fixture.ledger.registry.use { (file) throws(StorageFault) in
            guard case .tied(let changes) = try file.tie([.init("u"), .init("a")]) else { preconditionFailure("they can be tied") }
            return ((), changes)
        }
        #expect(fixture.take(#"{"type":"consent","anonymousId":"a","consent":{"denied":["operations"]}}"#, event("u", "2")) == [])
        #expect(try fixture.ledger.terms("u")?.denied == ["analytics", "operations"])
        fixture.take(#"{"type":"consent","anonymousId":"new",\#(refusal)}"#)
        #expect(try fixture.ledger.terms("new") == ConsentTerms(denied: ["analytics"]))
    }

    @Test("with an earlier timestamp than the one on record has no effect, except a withdrawal")
    func late() throws {
        let fixture = try StreamFixture()
        func dated(_ consent: String, _ year: Int) -> String {
            #"{"type":"consent","userId":"u","consent":\#(consent),"timestamp":"\#(year)-01-01T00:00:00Z"}"#
        }
        #expect(fixture.take(dated(grants, 2021), event("u", "1")) == ["1"])
        #expect(fixture.take(dated(#"{"level":"none"}"#, 2020), event("u", "2")) == ["2"])
        #expect(fixture.take(dated(withdraws, 2020), event("u", "3")) == [])
        #expect(fixture.take(dated(grants, 2020), event("u", "4")) == [])
        #expect(fixture.take(dated(grants, 2022), event("u", "5")) == ["5"])
    }

    @Test("that is invalid is routed, counted and reported once, and has no effect")
    func broken() throws {
        let fixture = try StreamFixture()
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let box = fixture.block(
            says("u", #"{"level":"nonsense"}"#), says("u", #"{"level":"nonsense"}"#), event("u", "1"), #"{"type":"reset"}"#)
        #expect(fixture.turn(box) == ["1"])
        #expect(box.heard.broken == 3 && box.tally.events == 4)
        let said = fixture.said.withLock { $0 }
        #expect(said.count == 2 && said.contains { $0.contains("consent.level is not a level of routes.json") })
    }

    @Test("has no effect in a router without a ledger")
    func noLedger() {
        let plan = streamPlan { $0.consent?.ledger = nil }
        let ruleset = Ruleset(plan, subjectKey: Array(0..<16))
        var worker = Worker(ruleset, lineLimit: 1 << 20, depth: 64, blockSize: 4096)
        worker.block.text.append(says("u", grants) + "\n" + event("u", "1") + "\n")
        worker.work()
        let (isWaiting, tally) = (worker.isWaiting, worker.tally)
        #expect(!isWaiting && tally[0, .denied(.unknown)] == 2)
    }
}

@Suite("A source that may not write the ledger")
struct ForbiddenTests {
    @Test("cannot grant; its event is routed and counted, and that is reported once")
    func grant() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        let box = fixture.block(says("u", grants), event("u", "1"), says("u", #"{"granted":["operations","analytics"]}"#), event("u", "2"))
        #expect(fixture.turn(box) == [])
        #expect(box.heard.forbidden == 2 && box.tally.events == 4)
        #expect(try fixture.ledger.terms("u") == nil)
        #expect(fixture.said.withLock { $0 }.count == 1)
        try fixture.ledger.set("u", ConsentTerms(level: "essential"))
        #expect(fixture.take(says("u", grants), event("u", "3")) == [])
        #expect(try fixture.ledger.terms("u") == ConsentTerms(level: "essential"))
        try fixture.ledger.set("u", .withdrawn)
        #expect(fixture.take(says("u", grants), event("u", "4")) == [])
        #expect(try fixture.ledger.terms("u") == .withdrawn)
    }

    @Test("can refuse: later events are denied, even if the decision also grants something")
    func refusal() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        for id in ["u", "v", "w"] { try fixture.ledger.set(id, ConsentTerms(level: "standard")) }
        #expect(fixture.take(event("u", "1"), says("u", #"{"denied":["analytics"]}"#), event("u", "2")) == ["1"])
        #expect(fixture.take(says("v", #"{"level":"essential","version":"9"}"#), event("v", "3")) == [])
        #expect(try fixture.ledger.terms("v") == ConsentTerms(level: "essential", denied: ["analytics"]))
        #expect(fixture.take(says("w", withdraws), event("w", "4")) == [])
        #expect(try fixture.ledger.terms("w") == .withdrawn)
    }

    @Test("cannot erase: its withdrawal destroys nothing and gets no receipt")
    func erasure() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        fixture.take(says("u", withdraws))
        #expect(try fixture.ledger.receipts() == 0 && fixture.destroyed.withLock { $0 }.isEmpty)
    }

    @Test("cannot tie: an unknown subject does not get the consent of another subject")
    func tie() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let names = fixture.take(
            #"{"type":"identify","userId":"u","anonymousId":"a"}"#, #"{"type":"alias","previousId":"a","userId":"u"}"#,
            #"{"anonymousId":"a","event":"1"}"#)
        #expect(names == [])
        #expect(try fixture.ledger.effective("a") == [])
        let box = fixture.block(#"{"type":"identify","userId":"u","anonymousId":"a"}"#)
        #expect(!box.isWaiting && box.heard.forbidden == 1, "the block does not wait for its turn")
    }

    @Test("cannot untie: a subject that withdrew with another id stays withdrawn")
    func untie() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        try fixture.ledger.set("u", .withdrawn)
        try fixture.ledger.set("a", ConsentTerms(level: "standard"))
        try fixture.ledger.registry.use { (file) throws(StorageFault) in
            guard case .tied(let changes) = try file.tie([.init("u"), .init("a")]) else { preconditionFailure("they can be tied") }
            return ((), changes)
        }
        #expect(fixture.take(#"{"type":"reset","anonymousId":"a"}"#, #"{"anonymousId":"a","event":"1"}"#) == [])
        #expect(try fixture.ledger.effective("a").contains(.withdrawn))
    }

    @Test("may have one key with the right to write and another key without it")
    func keys() {
        let plan = streamPlan { plan in
            var source = SourcePlan(name: "web", plugin: "http")
            source.http = HTTPSourcePlan()
            source.http?.keys = [
                AccessKey(name: "app", secrets: []), AccessKey(name: "center", secrets: [], consent: .write),
            ]
            plan.namedSources = [source]
        }
        let ruleset = Ruleset(plan)
        #expect((0...2).map { ruleset.mayWrite(source: 0, key: $0) } == [false, false, true])
    }
}

@Suite("A ledger that cannot be written")
struct UnwritableTests {
    @Test("keeps refusals in memory, grants nothing, and reports the fault once")
    func failing() throws {
        let fixture = try StreamFixture()
        for id in ["u", "v"] { try fixture.ledger.set(id, ConsentTerms(level: "standard")) }
        fixture.ledger.fail()
        let box = fixture.block(
            says("new", grants), event("new", "1"), says("u", withdraws), event("u", "2"), says("v", #"{"level":"essential"}"#),
            event("v", "3"))
        let later = fixture.block(event("u", "4"), event("v", "5"))
        #expect(fixture.turn(box) == [] && !box.isWritten)
        #expect(box.heard.unwritten == 3 && box.tally.events == 6)
        #expect(fixture.turn(later) == [] && later.isWritten)
        #expect(!fixture.turn(fixture.block(says("new", grants))).contains("1"))
        #expect(fixture.said.withLock { $0 }.filter { $0.hasPrefix("the ledger cannot be written") }.count == 1)

        fixture.ledger.heal()
        #expect(fixture.take(says("u", grants), event("u", "6")) == ["6"])
        #expect(fixture.said.withLock { $0 }.last == "the ledger can be written again")
        #expect(try fixture.ledger.terms("new") == nil)
    }

    @Test("grants nothing by decisions that come before the fault in the same block")
    func halfWay() throws {
        for at in 0..<60 {
            let fixture = try StreamFixture()
            fixture.ledger.fail(at: Int64(at))
            let box = fixture.block(says("u", grants), event("u", "1"), says("v", grants), event("v", "2"))
            let names = fixture.turn(box)
            fixture.ledger.heal()
            #expect(names == (box.isWritten ? ["1", "2"] : []))
            #expect(try fixture.ledger.terms("u") == (box.isWritten ? ConsentTerms(level: "standard") : nil))
            if box.isWritten { return #expect(at > 0) }
        }
        Issue.record("the ledger was never written")
    }
}
