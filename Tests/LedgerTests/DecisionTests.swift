import ConsentGate
import Platform
import Testing

@testable import Ledger

@Suite("A decision in the ledger")
struct DecisionTests {
    private let folder = Folder()

    @Test("a decision is recorded with its time and origin, and only the history keeps it when another follows")
    func kept() throws {
        let testClock = TestClock()
        let ledger = try ledger(folder, testClock)
        let outcome = try ledger.set(LedgerID("user-1"), analytics, decided: seconds(900), origin: "command")
        #expect(outcome.holds && outcome.changes == [LedgerChange(short: short("user-1"), effective: [analytics])])
        testClock.seconds = 1010
        try ledger.set(LedgerID("user-1"), marketing, origin: "source web")
        let entry = try #require(try ledger.get(LedgerID("user-1")))
        #expect(
            entry.record
                == ConsentRecord(terms: marketing, decided: seconds(1010), received: seconds(1010), origin: "source web"))
        #expect(entry.effective == [marketing] && entry.ties.isEmpty && entry.id.key == "first")
        #expect(entry.history.map(\.record.terms) == [analytics, marketing] && entry.history.map(\.held) == [true, true])
        #expect(entry.history.first?.record.decided == seconds(900) && entry.history.first?.record.received == seconds(1000))
        #expect(try ledger.get(LedgerID("user-2")) == nil)
    }

    @Test("a decision that is older than the recorded one does not hold, and is kept in the history")
    func late() throws {
        let ledger = try ledger(folder)
        try ledger.withdraw(LedgerID("user-1"), decided: seconds(500), origin: "command")
        let outcome = try ledger.set(LedgerID("user-1"), marketing, decided: seconds(499), origin: "source web")
        #expect(!outcome.holds && outcome.changes.isEmpty)
        let entry = try #require(try ledger.get(LedgerID("user-1")))
        #expect(entry.record?.terms == .withdrawn)
        #expect(entry.history.map(\.held) == [true, false])
    }

    @Test("of two decisions of the same moment, what both agree to holds, in either order", arguments: [false, true])
    func sameMoment(swapped: Bool) throws {
        let pairs: [(ConsentTerms, ConsentTerms, ConsentTerms)] = [
            (marketing, .withdrawn, .withdrawn),
            (marketing, analytics, ConsentTerms(level: "analytics", granted: ["measure"], version: "2")),
            (
                ConsentTerms(granted: ["ads"], denied: ["measure"]), ConsentTerms(granted: ["ads", "measure"], denied: ["mail"]),
                ConsentTerms(granted: ["ads"], denied: ["mail", "measure"])
            ),
            (ConsentTerms(level: "marketing"), ConsentTerms(granted: ["ads"]), ConsentTerms()),
            (ConsentTerms(level: "marketing"), ConsentTerms(level: "unheard of"), ConsentTerms(level: "unheard of")),
            (ConsentTerms(level: "strange"), ConsentTerms(level: "unheard of"), ConsentTerms()),
            (ConsentTerms(version: "1"), ConsentTerms(version: "2"), ConsentTerms()),
        ]
        for (a, b, both) in pairs {
            let folder = Folder()
            let ledger = try ledger(folder)
            try ledger.set(LedgerID("x"), swapped ? b : a, decided: seconds(5), origin: "command")
            let outcome = try ledger.set(LedgerID("x"), swapped ? a : b, decided: seconds(5), origin: "command")
            #expect(try outcome.holds && ledger.get(LedgerID("x"))?.record?.terms == both)
        }
    }

    @Test("two decisions of the same moment are compared by the current levels, even if a reload has changed them")
    func newLevels() throws {
        let folder = Folder()
        let registry = try Registry(ledger(folder))
        registry.adopt(levels: ["none", "strict", "loose"])
        try registry.use { (ledger) throws(StorageFault) in
            try ledger.set(LedgerID("x"), ConsentTerms(level: "loose"), decided: seconds(5), origin: "command")
            let outcome = try ledger.set(LedgerID("x"), ConsentTerms(level: "strict"), decided: seconds(5), origin: "command")
            return ((), outcome.changes)
        }
        let terms = try registry.use { (ledger) throws(StorageFault) in (try ledger.get(LedgerID("x"))?.record?.terms, []) }
        #expect(terms == ConsentTerms(level: "strict"))
        withExtendedLifetime(folder) {}
    }

    @Test("a decision from the future gets the current time, so that a client's clock cannot outrun a withdrawal")
    func future() throws {
        let testClock = TestClock()
        let ledger = try ledger(folder, testClock)
        try ledger.set(LedgerID("x"), marketing, decided: seconds(99_999), origin: "source web")
        try ledger.withdraw(LedgerID("x"), origin: "command")
        #expect(try ledger.get(LedgerID("x"))?.record?.terms == .withdrawn)
    }

    @Test("withdrawing a purpose leaves the rest, withdrawing everything leaves nothing, and new consent replaces both")
    func withdrawal() throws {
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("x"), marketing, decided: seconds(1), origin: "command")
        try ledger.withdraw(LedgerID("x"), purposes: ["ads"], decided: seconds(2), origin: "command")
        let rest = ConsentTerms(level: "marketing", granted: ["measure"], denied: ["ads"], version: "2")
        #expect(try ledger.get(LedgerID("x"))?.record?.terms == rest)
        try ledger.withdraw(LedgerID("x"), decided: seconds(3), origin: "command")
        try ledger.withdraw(LedgerID("x"), purposes: ["mail"], decided: seconds(4), origin: "command")
        #expect(try ledger.get(LedgerID("x"))?.record?.terms == .withdrawn)
        #expect(try ledger.set(LedgerID("x"), analytics, decided: seconds(5), origin: "command").changes.first?.effective == [analytics])
        try ledger.withdraw(LedgerID("new"), purposes: ["ads"], origin: "command")
        #expect(try ledger.get(LedgerID("new"))?.record?.terms == ConsentTerms(denied: ["ads"]))
    }

    @Test("a decision holds even if the clock went back, and the ledger reports the clock")
    func clockBehind() throws {
        let testClock = TestClock(10_000)
        var ledger = try ledger(folder, testClock)
        try ledger.set(LedgerID("x"), marketing, origin: "command")
        ledger.close()
        testClock.seconds = 10_000 - 300
        ledger = try LedgerTests.ledger(folder, testClock)
        #expect(!ledger.isClockBehind)
        testClock.seconds = 10_000 - 301
        #expect(ledger.isClockBehind)
        try ledger.withdraw(LedgerID("x"), origin: "command")
        let record = try #require(try ledger.get(LedgerID("x"))?.record)
        // Each write has a time of its own.
        #expect(record.terms == .withdrawn && record.received == seconds(10_000) + 1)
        #expect(ledger.isClockBehind)
        try ledger.believeClock()
        #expect(!ledger.isClockBehind)
        testClock.seconds += 1
        #expect(try ledger.set(LedgerID("x"), analytics, origin: "command").holds)
    }

    @Test("forgetting deletes older decisions from the history, but never one that holds")
    func retention() throws {
        let testClock = TestClock()
        let ledger = try ledger(folder, testClock)
        for step in 1...3 as ClosedRange<Int64> {
            testClock.seconds = 1000 + step * 10
            try ledger.set(LedgerID("x"), step == 2 ? analytics : marketing, origin: "command")
        }
        try ledger.forget(before: seconds(2000))
        let entry = try #require(try ledger.get(LedgerID("x")))
        #expect(entry.history.map(\.record.decided) == [seconds(1030)] && entry.record?.terms == marketing)
        try ledger.withdraw(LedgerID("x"), purposes: ["ads"], decided: seconds(1040), origin: "command")
        testClock.seconds = 1040
        try ledger.withdraw(LedgerID("x"), decided: seconds(1040), origin: "command")
        try ledger.set(LedgerID("x"), analytics, decided: seconds(1040), origin: "command")
        try ledger.forget(before: seconds(2000))
        #expect(try ledger.get(LedgerID("x"))?.history.map(\.record.terms) == [.withdrawn, analytics], "both make up what holds")
    }

    @Test("the summary counts decisions")
    func figures() throws {
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("a"), marketing, origin: "command")
        try ledger.set(LedgerID("b"), analytics, origin: "command")
        try ledger.set(LedgerID("c"), ConsentTerms(granted: ["ads"]), origin: "command")
        try ledger.withdraw(LedgerID("a"), origin: "command")
        try ledger.tie([LedgerID("b"), LedgerID("d")])
        var expected = LedgerSummary()
        expected.subjects = 4
        expected.tied = 2
        expected.persons = 1
        expected.withdrawn = 1
        expected.levels = ["analytics": 1, "": 1]
        expected.keys = ["first": 4]
        expected.decisions = 4
        expected.lastReceived = seconds(1000)
        #expect(try ledger.summary() == expected)
    }
}
