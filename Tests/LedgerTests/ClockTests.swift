// Tests the order of withdrawals and later decisions after a clock that was ahead.

import Admission
import ConsentGate
import Platform
import Testing

@testable import Ledger

@Suite("A clock that was ahead") struct ClockTests {
    private let folder = Folder()
    private let testClock = TestClock(100_000)

    /// Makes a ledger in which `x` consented and withdrew while the clock was ahead, and sets the clock right.
    private func withdrawn(isFinished: Bool) throws -> LedgerFile {
        let ledger = try ledger(folder, testClock)
        try ledger.set(LedgerID("x"), marketing, origin: "command")
        testClock.seconds = 100_010
        let receipt = try #require(try ledger.withdraw(all: [LedgerID("x")], origin: "command").receipts.first)
        try ledger.add(.init(place: "dead letters", at: seconds(100_010), events: 1), to: receipt)
        if isFinished { try ledger.finishReceipt(receipt) }
        testClock.seconds = 50_000
        return ledger
    }

    private func check(_ ledger: LedgerFile) throws -> SecondCheck {
        let check = SecondCheck(ConsentRecords(), levels: RunNames(), clock: testClock.clock)
        _ = try check.banAll(of: ledger)
        return check
    }

    /// Returns if an event of `x` that came in at this time is one of a withdrawal.
    private func isRefused(_ arrival: Int64, _ check: SecondCheck) -> Bool {
        check.isWithdrawn(arrival: seconds(arrival), subjects: [SubjectKey(short("x"))])
    }

    @Test("a withdrawal of that time does not refuse what comes in after the clock is believed and the person consents again")
    func consentAnew() throws {
        let ledger = try withdrawn(isFinished: true)
        let running = try check(ledger)
        #expect(isRefused(50_020, running))
        try ledger.believeClock()
        running.limitBans(to: ledger.lastWritten)
        testClock.seconds = 50_010
        try ledger.set(LedgerID("x"), analytics, origin: "command")
        #expect(try ledger.get(LedgerID("x"))?.record?.terms == analytics)
        testClock.seconds = 50_030
        for check in [running, try check(ledger)] {
            #expect(!isRefused(50_020, check))
            #expect(isRefused(50_000, check))
            // It came in under the clock that was ahead.
            #expect(isRefused(100_005, check))
        }
        let receipt = try #require(try ledger.receipts().first)
        #expect(receipt.begun == seconds(50_000) && receipt.finished == seconds(50_000))
        #expect(receipt.lines.map(\.at) == [seconds(50_000)])
    }

    @Test("until its events are destroyed it refuses all that came in under that clock, even after the clock has passed that time")
    func unfinished() throws {
        let ledger = try withdrawn(isFinished: false)
        let running = try check(ledger)
        try ledger.believeClock()
        running.limitBans(to: ledger.lastWritten)
        try ledger.set(LedgerID("x"), analytics, origin: "command")
        testClock.seconds = 200_000
        for check in [running, try check(ledger)] { #expect(isRefused(100_005, check)) }
        testClock.seconds = 60_000
        try ledger.finishReceipt(1)
        running.finish(try #require(try ledger.receipts().first))
        testClock.seconds = 60_010
        for check in [running, try check(ledger)] {
            #expect(isRefused(59_999, check))
            #expect(!isRefused(60_005, check))
        }
        #expect(try ledger.receipts().first?.begun == seconds(60_000))
    }
}
