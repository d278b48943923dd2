// Tests that a ledger which somebody without its key has changed is a fault, even if every plain checksum fits, and that the checksums follow
// the key.

import ConsentGate
import Foundation
import Platform
import TestSupport
import Testing

@testable import Database
@testable import Ledger

@Suite("A ledger under a key") struct SealTests {
    private let folder: Folder

    init() { folder = Folder(inMemory: true) }

    /// Makes a ledger in which `x` has withdrawn after an earlier grant, and `y` has consented.
    private func fill() throws {
        let time = TestClock()
        let ledger = try LedgerTests.ledger(folder, time)
        try ledger.set(LedgerID("x"), marketing, origin: "test")
        time.seconds += 10
        try ledger.withdraw(LedgerID("x"), origin: "test")
        try ledger.set(LedgerID("y"), analytics, origin: "test")
        ledger.close()
    }

    /// Changes the file as somebody does who knows the code but not the key: the rows get checksums under a key of their own, and the proof
    /// and the witness fit them.
    private func forge(_ sql: String, key: LedgerKeys.Key? = nil, sealing: Bool = false) throws {
        var options = ProvenFile.Options()
        options.isShared = true
        if sealing, let key {
            options.sealed = { (proof, database) throws(StorageFault) in try LedgerSeal.write(proof, under: key, database) }
        }
        guard case .open(let file) = try ProvenFile.open(folder.ledger, as: LedgerSchema.format, options, upgrade: { _, _ in }) else {
            Issue.record("the file cannot be opened")
            return
        }
        let rows = try RowGuard(file.database, application: LedgerSchema.format.application, LedgerSchema.guarded, key: key?.rows)
        try file.transaction { () throws(StorageFault) in
            try file.database.run(sql)
            try rows.renew(under: (key ?? second).rows, into: &file.proof)
        }
        file.close()
    }

    private func fault() -> String? {
        LedgerTests.fault { () throws(StorageFault) in _ = try ledger(folder, TestClock(2000)) }?.description
    }

    private let freeing = "UPDATE subjects SET terms = (SELECT min(number) FROM terms) WHERE decided = (SELECT max(decided) FROM subjects)"

    @Test("a change by hand is a fault, with plain checksums, with another key, and with another key's seal")
    func forged() throws {
        for (key, sealing) in [(nil, false), (second, false), (second, true)] as [(LedgerKeys.Key?, Bool)] {
            let test = SealTests()
            try test.fill()
            try test.forge(freeing, key: key, sealing: sealing)
            let before = test.folder.files.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
            #expect(test.fault()?.contains("its seal is wrong: it was changed by hand") == true, "\(test.fault() ?? "none")")
            #expect(test.folder.files.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") } == before)
        }
    }

    @Test("what holds must agree with the history, even if the key itself made the checksums")
    func history() throws {
        for sql in [
            freeing, "UPDATE history SET terms = (SELECT min(number) FROM terms)", "DELETE FROM history",
            "UPDATE subjects SET terms = NULL",
        ] {
            let test = SealTests()
            try test.fill()
            // The holder of the key makes everything fit but the meaning.
            var options = ProvenFile.Options()
            options.isShared = true
            options.sealed = { (proof, database) throws(StorageFault) in try LedgerSeal.write(proof, under: first, database) }
            guard case .open(let file) = try ProvenFile.open(test.folder.ledger, as: LedgerSchema.format, options, upgrade: { _, _ in })
            else {
                Issue.record("the file cannot be opened")
                return
            }
            let rows = try RowGuard(
                file.database, application: LedgerSchema.format.application, LedgerSchema.guarded, key: first.rows)
            try rows.install()
            rows.begin()
            try file.transaction { () throws(StorageFault) in
                try file.database.run(sql)
                rows.settle(into: &file.proof)
            }
            file.close()
            #expect(test.fault()?.contains("says something else than its history") == true, "\(sql): \(test.fault() ?? "none")")
        }
    }

    @Test("a change by another connection is found at the next write, and nothing is written")
    func whileOpen() throws {
        try fill()
        let registry = try Registry(ledger(folder, TestClock(2000)))
        let shell = try Database(folder.ledger)
        try shell.run(freeing)
        shell.close()
        let fault = LedgerTests.fault { () throws(StorageFault) in
            try registry.use { (file) throws(StorageFault) in ((), try file.set(LedgerID("z"), marketing, origin: "test").changes) }
        }
        #expect(fault?.kind == .damaged)
        #expect(registry.records.isUnreadable && registry.damage != nil)
        registry.close()
    }

    @Test("another connection that changes nothing of the ledger's rows is no fault")
    func harmless() throws {
        try fill()
        let ledger = try LedgerTests.ledger(folder, TestClock(2000))
        let shell = try Database(folder.ledger)
        try shell.run("CREATE TABLE notes (text)")
        shell.close()
        try ledger.set(LedgerID("z"), marketing, origin: "test")
        ledger.close()
        #expect(fault() == nil)
    }

    @Test("the checksums move to a new key while the old one is named, and the old one may go afterwards")
    func rotation() throws {
        try fill()
        let gone = LedgerTests.fault { () throws(StorageFault) in _ = try ledger(folder, keys: LedgerKeys(current: second)) }
        #expect(gone?.kind == .foreign && gone?.description.contains("name that key as a previous one") == true, "\(gone as Any)")
        try ledger(folder, TestClock(2000), keys: LedgerKeys(current: second, previous: [first])).close()
        let moved = try ledger(folder, TestClock(2000), keys: LedgerKeys(current: second))
        #expect(try moved.lastDecision(of: LedgerID("x"))?.terms == .withdrawn)
        moved.close()
        // Only the old key is named, which no longer proves anything.
        #expect(fault() != nil)
    }

    @Test("a ledger whose checksums had no key is converted once, with a message, and is not taken in that form again")
    func conversion() throws {
        try fill()
        let current = FileManager.default.contents(atPath: folder.ledger)
        func older() throws {
            var options = ProvenFile.Options()
            options.isShared = true
            guard case .open(let file) = try ProvenFile.open(folder.ledger, as: LedgerSchema.format, options, upgrade: { _, _ in }) else {
                return
            }
            let plain = try RowGuard(file.database, application: LedgerSchema.format.application, LedgerSchema.unsealed)
            try file.transaction { () throws(StorageFault) in
                plain.begin()
                try plain.fill()
                var sums = file.proof
                for table in LedgerSchema.unsealed.indices { sums[RowGuard.key(table)] = .init(key: RowGuard.key(table)) }
                sums.digest = 0
                plain.settle(into: &sums)
                file.proof.digest = sums.digest
                try file.database.run("DROP TABLE seal; DROP TABLE evidence; PRAGMA user_version = 2")
            }
            file.close()
            let shell = try Database(folder.ledger)
            let proof = try #require(try Proof.read(shell, LedgerSchema.format.application))
            var old = proof
            old.version = 2
            try old.write(shell, LedgerSchema.format.application)
            shell.close()
        }
        try older()
        unlink(folder.path + "/ledger.witness")
        let said = Monitor([String]())
        var options = LedgerTests.options(TestClock(2000))
        options.warn = { line in said.withLock { $0.append(line) } }
        for _ in 0..<2 {
            let ledger = try #require(try LedgerFile(folder.ledger, options: options))
            #expect(try ledger.lastDecision(of: LedgerID("x"))?.terms == .withdrawn)
            ledger.close()
        }
        #expect(
            said.withLock { $0.filter { $0.contains("now have checksums under the key 'first'") }.count == 1 }, "\(said.withLock { $0 })")
        #expect(current != nil)
        // Set back by hand, with its witness still there.
        try older()
        #expect(fault()?.contains("its format was set back by hand") == true, "\(fault() ?? "none")")
    }
}
