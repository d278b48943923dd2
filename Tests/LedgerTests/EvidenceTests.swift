// Tests that the evidence of a decision is kept encrypted, and only with a key for it.

import ConsentGate
import Database
import Foundation
import Plans
import Platform
import StateFiles
import Testing

@testable import Ledger

@Suite("The evidence of a decision") struct EvidenceTests {
    private let shown = ConsentEvidence(ipAddress: "192.0.2.7", userAgent: "Agent \"x\"", text: "We measure what you like.")

    private func open(_ folder: Folder, _ secret: String?) throws(StorageFault) -> LedgerFile {
        var options = LedgerTests.options()
        options.evidence = secret.map { Cipher(Secret(Array($0.utf8)), for: .evidence) }
        return try LedgerFile(folder.ledger, options: options)!
    }

    @Test("is kept with its decision, encrypted, and shown under its key")
    func kept() throws {
        let folder = Folder(inMemory: true)
        var ledger = try open(folder, "a key of sixteen")
        try ledger.set(LedgerID("x"), marketing, origin: "test")
        try ledger.set(LedgerID("x"), analytics, origin: "test", evidence: shown)
        try ledger.withdraw(LedgerID("x"), origin: "test", evidence: ConsentEvidence(userAgent: "other"))
        #expect(try ledger.get(LedgerID("x"))?.history.map(\.evidence) == [nil, shown, ConsentEvidence(userAgent: "other")])
        ledger.close()
        for text in ["192.0.2.7", "Agent", "We measure"] { #expect(!folder.holds(text), "\(text)") }
        ledger = try open(folder, "a key of sixteen")
        #expect(try ledger.get(LedgerID("x"))?.history[1].evidence == shown)
        ledger.close()
        for other in ["another sixteen!", nil] {
            ledger = try open(folder, other)
            #expect(try ledger.get(LedgerID("x"))?.history.map(\.evidence) == [nil, nil, nil])
            ledger.close()
        }
    }

    @Test("is not kept without a key, and goes with its decision")
    func gone() throws {
        let folder = Folder(inMemory: true)
        let time = TestClock(1000)
        var ledger = try open(folder, nil)
        try ledger.set(LedgerID("x"), analytics, origin: "test", evidence: shown)
        ledger.close()
        var options = LedgerTests.options(time)
        options.evidence = Cipher(Secret(Array("a key of sixteen".utf8)), for: .evidence)
        ledger = try LedgerFile(folder.ledger, options: options)!
        #expect(try ledger.get(LedgerID("x"))?.history.map(\.evidence) == [nil])
        try ledger.set(LedgerID("y"), analytics, origin: "test", evidence: shown)
        time.seconds = 2000
        try ledger.set(LedgerID("y"), marketing, origin: "test")
        try ledger.forget(before: seconds(1500))
        #expect(try ledger.database.number("SELECT count(*) FROM evidence") == 0)
        ledger.close()
    }
}
