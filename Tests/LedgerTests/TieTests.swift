import ConsentGate
import Platform
import Testing

@testable import Ledger

@Suite("Ids of one person")
struct TieTests {
    private let folder = Folder()

    private func changed(_ outcome: TieOutcome) -> [ShortHash: [ConsentTerms]]? {
        guard case .tied(let changes) = outcome else { return nil }
        return Dictionary(uniqueKeysWithValues: changes.map { ($0.short, $0.effective) })
    }

    @Test("tied ids share their decisions until they are untied")
    func shared() throws {
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("user"), marketing, origin: "command")
        #expect(
            changed(try ledger.tie([LedgerID("user"), LedgerID("device")])) == [short("device"): [marketing]],
            "only the device gets new terms")
        #expect(try ledger.get(LedgerID("device"))?.record == nil)
        let outcome = try ledger.withdraw(LedgerID("device"), origin: "command")
        #expect(Set(outcome.changes.map(\.short)) == [short("user"), short("device")])
        #expect(try ledger.get(LedgerID("user"))?.effective == [ConsentTerms.withdrawn, marketing].sorted())
        #expect(try ledger.person(of: LedgerID("user")) == [short("user"), short("device")])
        #expect(try ledger.get(LedgerID("user"))?.ties.map(\.short) == [short("device")])
        let changes = try ledger.untie(LedgerID("device"))
        #expect(Set(changes.map(\.effective)) == [[.withdrawn], [marketing]] && changes.count == 2)
        #expect(try ledger.get(LedgerID("user"))?.ties.isEmpty == true)
    }

    @Test("two persons become one when one id of each is tied")
    func join() throws {
        let ledger = try ledger(folder)
        try ledger.tie([LedgerID("a"), LedgerID("b")])
        try ledger.tie([LedgerID("c"), LedgerID("d")])
        try ledger.withdraw(LedgerID("d"), origin: "command")
        let changes = changed(try ledger.tie([LedgerID("b"), LedgerID("c")]))
        #expect(changes == [short("a"): [.withdrawn], short("b"): [.withdrawn]])
        #expect(try ledger.person(of: LedgerID("a")).count == 4)
        #expect(changed(try ledger.tie([LedgerID("a"), LedgerID("d")])) == [:], "they are already tied")
        #expect(changed(try ledger.tie([LedgerID("z"), LedgerID("z")])) == [:])
        #expect(try ledger.get(LedgerID("z")) == nil, "an id that is tied to itself gets no row")
    }

    @Test("a person has at most a hundred ids; a tie that exceeds this is refused and does nothing")
    func limit() throws {
        let ledger = try ledger(folder)
        for number in 1..<100 { try ledger.tie([LedgerID("hub"), LedgerID("id-\(number)")]) }
        #expect(try ledger.person(of: LedgerID("hub")).count == 100)
        guard case .refused(let words) = try ledger.tie([LedgerID("id-5"), LedgerID("one-more")]) else {
            Issue.record("it was tied")
            return
        }
        #expect(words == "would tie 101 ids together, and a person can have at most 100")
        #expect(try ledger.get(LedgerID("one-more")) == nil)
        #expect(changed(try ledger.tie([LedgerID("id-5"), LedgerID("id-6")])) == [:])
    }

    @Test("ids without a decision leave no rows when they are untied")
    func nothingLeft() throws {
        let ledger = try ledger(folder)
        try ledger.tie([LedgerID("a"), LedgerID("b")])
        #expect(try ledger.summary().subjects == 2)
        #expect(try ledger.untie(LedgerID("a")).isEmpty)
        #expect(try ledger.summary().subjects == 0)
        #expect(try ledger.untie(LedgerID("a")).isEmpty)
    }
}

@Suite("A receipt of a withdrawal")
struct ReceiptTests {
    private let folder = Folder()

    @Test("a receipt is unfinished until nothing is left to destroy, even if the process ends in between")
    func life() throws {
        let testClock = TestClock()
        var ledger = try ledger(folder, testClock)
        try ledger.tie([LedgerID("user"), LedgerID("device")])
        let number = try ledger.write { () throws(StorageFault) in
            try ledger.withdraw(LedgerID("user"), origin: "socket")
            return try ledger.beginReceipt(of: LedgerID("user"), origin: "socket")
        }
        // The ledger is not closed, as after a kill.
        ledger = try LedgerTests.ledger(folder, testClock)
        let begun = try #require(try ledger.unfinishedReceipts().first)
        #expect(begun.number == number && begun.subjects == [short("user"), short("device")] && begun.purposes == nil)
        let line = WithdrawalReceipt.Line(place: "spool of out", at: seconds(1001), events: 12, bytes: 3400, inHands: 2)
        try ledger.add(line, to: number)
        try ledger.add(WithdrawalReceipt.Line(place: "dead letters", at: seconds(1001), events: 0), to: number)
        testClock.seconds = 1002
        try ledger.finishReceipt(number)
        #expect(try ledger.unfinishedReceipts().isEmpty)
        let done = try #require(try ledger.receipts().first)
        #expect(done.lines.map(\.place) == ["spool of out", "dead letters"] && done.lines[0] == line)
        #expect(done.begun == seconds(1000) && done.finished == seconds(1002))
        #expect(try ledger.receipts(after: number).isEmpty)
    }

    @Test("a receipt names its purposes, and is found by the id, even under a previous key")
    func found() throws {
        var ledger = try ledger(folder)
        let one = try ledger.beginReceipt(of: LedgerID("user"), purposes: ["ads", "a \"b\""], origin: "command")
        _ = try ledger.beginReceipt(of: LedgerID("other"), purposes: [], origin: "command")
        ledger.close()
        ledger = try LedgerTests.ledger(folder, keys: LedgerKeys(current: second, previous: [first]))
        let two = try ledger.beginReceipt(of: LedgerID("user"), origin: "command")
        #expect(try ledger.receipts(of: LedgerID("user")).map(\.number) == [one, two])
        #expect(try ledger.receipts().map(\.purposes) == [["ads", "a \"b\""], [], nil])
        #expect(try ledger.receipts().map(\.key) == ["first", "first", "second"])
    }

    @Test("forgetting deletes a receipt that finished before the given time, and never an unfinished one")
    func retention() throws {
        let testClock = TestClock()
        let ledger = try ledger(folder, testClock)
        let ended = try ledger.beginReceipt(of: LedgerID("user"), origin: "command")
        let open = try ledger.beginReceipt(of: LedgerID("user"), origin: "command")
        try ledger.add(WithdrawalReceipt.Line(place: "held", at: 1, events: 1), to: ended)
        try ledger.finishReceipt(ended)
        try ledger.forget(before: seconds(2000))
        #expect(try ledger.receipts().map(\.number) == [open])
    }
}
