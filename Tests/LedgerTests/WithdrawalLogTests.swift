// Tests that a withdrawal outlives any damage to the ledger, since a file of its own has it too.

import ConsentGate
import Foundation
import Platform
import TestSupport
import Testing

@testable import Ledger

@Suite("The file of withdrawals") struct WithdrawalLogTests {
    private static let withdrawn = ["a", "b", "tied", "phone"]

    /// Makes a ledger with many ids, of which some have withdrawn, and closes it.
    private func fill(_ folder: Folder) throws {
        let time = TestClock()
        let ledger = try LedgerTests.ledger(folder, time)
        try ledger.write { () throws(StorageFault) in
            for number in 0..<200 { try ledger.set(LedgerID("id-\(number)"), number % 2 == 0 ? marketing : analytics, origin: "test") }
        }
        try ledger.tie([LedgerID("tied"), LedgerID("phone")])
        for id in WithdrawalLogTests.withdrawn + ["again"] { try ledger.set(LedgerID(id), marketing, origin: "test") }
        time.seconds += 10
        for id in WithdrawalLogTests.withdrawn + ["again"] { try ledger.withdraw(LedgerID(id), origin: "test") }
        try ledger.write { () throws(StorageFault) in
            try ledger.set(LedgerID("part"), marketing, origin: "test")
            ledger.advance()
            try ledger.withdraw(LedgerID("part"), purposes: ["ads"], origin: "test")
            _ = try ledger.beginReceipt(of: LedgerID("part"), purposes: ["ads"], origin: "test")
        }
        time.seconds += 10
        try ledger.set(LedgerID("again"), marketing, origin: "test")
        ledger.close()
    }

    private func open(_ folder: Folder, _ said: Monitor<[String]> = Monitor([])) throws(StorageFault) -> LedgerFile {
        var options = LedgerTests.options(TestClock(2000))
        options.warn = { line in said.withLock { $0.append(line) } }
        return try LedgerFile(folder.ledger, options: options)!
    }

    private func terms(_ id: String, _ ledger: LedgerFile) throws -> ConsentTerms? { try ledger.lastDecision(of: LedgerID(id))?.terms }

    private func expectWithdrawals(_ ledger: LedgerFile, _ what: String) throws {
        for id in WithdrawalLogTests.withdrawn { #expect(try terms(id, ledger) == .withdrawn, "\(what): \(id)") }
        #expect(try terms("part", ledger)?.denied == ["ads"], "\(what)")
    }

    @Test("every withdrawal is there again after any single page of the ledger was destroyed and its files were moved away")
    func pages() throws {
        let whole = Folder(inMemory: true)
        try fill(whole)
        let data = try #require(FileManager.default.contents(atPath: whole.ledger))
        #expect(data.count / 4096 > 10)
        var faults = 0
        for page in 0..<data.count / 4096 {
            let folder = Folder(inMemory: true)
            for name in whole.files { try FileManager.default.copyItem(atPath: whole.path + "/" + name, toPath: folder.path + "/" + name) }
            var damaged = data
            for at in page * 4096..<(page + 1) * 4096 { damaged[at] ^= 0x5a }
            try damaged.write(to: URL(fileURLWithPath: folder.ledger))
            var opened: LedgerFile?
            do throws(StorageFault) { opened = try open(folder) } catch {
                #expect(error.kind == .damaged || error.kind == .foreign, "page \(page): \(error)")
                faults += 1
            }
            if opened == nil {
                for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.witness"] {
                    unlink(folder.path + "/" + name)
                }
                opened = try open(folder)
            }
            let ledger = try #require(opened)
            try expectWithdrawals(ledger, "page \(page)")
            #expect(try ledger.unfinishedReceipts().count >= 1)
            ledger.close()
        }
        // A page that is not used may be damaged without harm.
        #expect(faults > data.count / 4096 - 4, "\(faults) of \(data.count / 4096)")
    }

    @Test("an older copy of the ledger gets the withdrawals back, and a later grant is not taken away")
    func olderCopy() throws {
        let folder = Folder(inMemory: true)
        let early = Folder(inMemory: true)
        var ledger = try LedgerTests.ledger(folder)
        for id in WithdrawalLogTests.withdrawn + ["part"] { try ledger.set(LedgerID(id), marketing, origin: "test") }
        ledger.close()
        try FileManager.default.copyItem(atPath: folder.ledger, toPath: early.ledger)
        try fill(folder)
        for name in ["ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.witness", "ledger.sqlite"] { unlink(folder.path + "/" + name) }
        try FileManager.default.copyItem(atPath: early.ledger, toPath: folder.ledger)
        let said = Monitor([String]())
        ledger = try open(folder, said)
        try expectWithdrawals(ledger, "an older copy")
        #expect(said.withLock { $0.contains { $0.contains("withdrawals that it lacked were taken from ledger.withdrawals") } })
        try ledger.set(LedgerID("a"), marketing, origin: "test")
        ledger.close()
        said.withLock { $0 = [] }
        ledger = try open(folder, said)
        #expect(try terms("a", ledger) == marketing && terms("b", ledger) == .withdrawn)
        #expect(said.withLock { $0 } == [])
        ledger.close()
    }

    @Test("a whole ledger needs nothing from the file, and a missing file is written again")
    func missing() throws {
        let folder = Folder(inMemory: true)
        try fill(folder)
        let path = folder.path + "/ledger.withdrawals"
        let before = FileManager.default.contents(atPath: path)
        let said = Monitor([String]())
        try open(folder, said).close()
        #expect(said.withLock { $0 } == [] && FileManager.default.contents(atPath: path) == before)
        unlink(path)
        try open(folder, said).close()
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.witness"] { unlink(folder.path + "/" + name) }
        let ledger = try open(folder)
        for id in WithdrawalLogTests.withdrawn { #expect(try terms(id, ledger) == .withdrawn) }
        ledger.close()
    }

    @Test("a damaged or forged line is reported and never used, and a cut line hides no later one")
    func damaged() throws {
        let folder = Folder(inMemory: true)
        try fill(folder)
        let path = folder.path + "/ledger.withdrawals"
        var text = try #require(FileManager.default.contents(atPath: path))
        let forged = WithdrawalLine.text(
            .init(
                id: HashedID(hmac: first.hmac(Array("id-1".utf8)), key: "first", short: short("id-1")), mark: "", purposes: nil,
                decided: seconds(1500)),
            second)
        text.append(contentsOf: forged)
        text.append(contentsOf: text.prefix(40))
        try text.write(to: URL(fileURLWithPath: path))
        let said = Monitor([String]())
        var ledger = try open(folder, said)
        #expect(said.withLock { $0.count == 1 && $0[0].contains("2 lines are damaged") }, "\(said.withLock { $0 })")
        #expect(try terms("id-1", ledger) == analytics)
        try ledger.withdraw(LedgerID("id-1"), origin: "test")
        ledger.close()
        for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.witness"] { unlink(folder.path + "/" + name) }
        ledger = try open(folder)
        #expect(try terms("id-1", ledger) == .withdrawn)
        ledger.close()
    }

    @Test("a withdrawal that was written there before a kill, and not committed, holds from the next opening on")
    func killed() throws {
        let folder = Folder(inMemory: true)
        try fill(folder)
        let log = try WithdrawalLog(folder.path + "/ledger.withdrawals", keys: LedgerKeys(current: first)) { _ in }
        var entry = try #require(log.entries.first)
        entry.id = HashedID(hmac: first.hmac(Array("new".utf8)), key: "first", short: short("new"))
        entry.decided = seconds(1800)
        try log.append([entry])
        let ledger = try open(folder)
        #expect(try terms("new", ledger) == .withdrawn)
        #expect(try ledger.unfinishedReceipts().contains { $0.subjects == [short("new")] && $0.origin == "ledger.withdrawals" })
        ledger.close()
    }

    @Test("a file that was removed beside an open ledger makes the next withdrawal a fault")
    func removed() throws {
        let folder = Folder(inMemory: true)
        try fill(folder)
        let ledger = try open(folder)
        unlink(folder.path + "/ledger.withdrawals")
        let fault = LedgerTests.fault { () throws(StorageFault) in try ledger.withdraw(LedgerID("id-3"), origin: "test") }
        #expect(fault?.kind == .removed)
        ledger.close()
    }

    @Test("no raw id is in the file")
    func noRawID() throws {
        let folder = Folder(inMemory: true)
        let ledger = try LedgerTests.ledger(folder)
        try ledger.withdraw(LedgerID("very-personal-id"), origin: "test")
        #expect(!folder.holds("very-personal-id"))
        ledger.close()
    }
}
