// Tests ledgers whose files were damaged after a kill. Such a ledger opens with its full content or is a fault. It never reports consent
// that was not given, and a damaged file stays as it is.

import ConsentGate
import Database
import Foundation
import Platform
import Seeded
import TestSupport
import Testing

@testable import Ledger

/// Everything that a ledger reports.
private struct LedgerContents: Equatable {
    var all: [ShortHash: [ConsentTerms]]
    var export: String
    var unfinished: [WithdrawalReceipt]
    var receipts: [WithdrawalReceipt]

    init(_ ledger: LedgerFile) throws(StorageFault) {
        all = try ledger.all()
        var text = ""
        var options = LedgerFile.ExportOptions()
        options.hasHistory = true
        try ledger.export(options) { text += String(decoding: $0, as: UTF8.self) }
        export = text
        unfinished = try ledger.unfinishedReceipts()
        receipts = try ledger.receipts()
    }
}

/// The files of a ledger as a killed process leaves them: some of the content is in the main file, and the newest only in the log.
private struct Killed {
    var files: [String: Data] = [:]
    let contents: LedgerContents

    init() throws {
        let folder = Folder(inMemory: true)
        let ledger = try LedgerTests.ledger(folder)
        for number in 0..<40 {
            try ledger.set(LedgerID("id-\(number)"), number % 3 == 0 ? analytics : marketing, origin: "test \(number % 5)")
        }
        try ledger.tidy()
        for number in 30..<50 { try ledger.set(LedgerID("id-\(number)"), number % 2 == 0 ? analytics : marketing, origin: "later") }
        for number in 0..<5 { try ledger.tie([LedgerID("id-\(number)"), LedgerID("device-\(number)")]) }
        try ledger.write { () throws(StorageFault) in
            try ledger.withdraw(LedgerID("id-1"), origin: "test")
            let receipt = try ledger.beginReceipt(of: LedgerID("id-1"), origin: "test")
            try ledger.add(WithdrawalReceipt.Line(place: "dead letters", at: 1, events: 2, bytes: 3), to: receipt)
        }
        try ledger.withdraw(LedgerID("id-2"), purposes: ["ads"], origin: "test")
        contents = try LedgerContents(ledger)
        for name in folder.files where !name.hasSuffix("-shm") {
            files[name] = FileManager.default.contents(atPath: folder.path + "/" + name)
        }
        #expect(Set(files.keys) == ["ledger.sqlite", "ledger.sqlite-wal", "ledger.withdrawals", "ledger.witness"])
        withExtendedLifetime(ledger) {}
    }

    /// Makes a folder with these files after a change.
    func folder(_ change: (inout [String: Data]) -> Void) throws -> Folder {
        var files = files
        change(&files)
        let folder = Folder(inMemory: true)
        for (name, data) in files { try data.write(to: URL(fileURLWithPath: folder.path + "/" + name)) }
        return folder
    }
}

extension Folder {
    /// The contents of the files. The shared memory and an empty log are left out, because SQLite creates them.
    fileprivate var contents: [String: Data] {
        let all = files.filter { !$0.hasSuffix("-shm") }.map { ($0, FileManager.default.contents(atPath: path + "/" + $0)!) }
        return Dictionary(uniqueKeysWithValues: all.filter { !($0.hasSuffix("-wal") && $1.isEmpty) })
    }
}

/// A kind of damage to a file.
private enum DamageKind: CaseIterable {
    case flip, zero, cut, append, swap

    func damage(_ data: inout Data, page: Int, head: Int, _ chance: inout Seeded) {
        guard data.count > head + 2 * page else { return }
        switch self {
        case .flip: data[Int.random(in: 0..<data.count, using: &chance)] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
        case .zero:
            let start = Int.random(in: 0..<data.count, using: &chance)
            let end = min(data.count, start + Int.random(in: 1...page, using: &chance))
            data.replaceSubrange(start..<end, with: Data(count: end - start))
        case .cut: data = data.prefix(Int.random(in: 0..<data.count, using: &chance))
        case .append:
            data.append(contentsOf: (0..<Int.random(in: 1...page, using: &chance)).map { _ in UInt8.random(in: 0...255, using: &chance) })
        case .swap:
            let pages = (data.count - head) / page
            let first = Int.random(in: 0..<pages - 1, using: &chance)
            let second = Int.random(in: first + 1..<pages, using: &chance)
            let (a, b) = (head + first * page, head + second * page)
            let taken = data[a..<a + page]
            data.replaceSubrange(a..<a + page, with: data[b..<b + page])
            data.replaceSubrange(b..<b + page, with: taken)
        }
    }
}

@Suite("A damaged ledger")
struct DamageTests {
    /// Opens the ledger and returns what it reports. Returns nil if it is a fault; the fault must name the remedy and leave all files as
    /// they are.
    private func open(_ folder: Folder, _ what: String) throws -> LedgerContents? {
        let before = folder.contents
        let opened: LedgerFile?
        do throws(StorageFault) {
            // A read-only opening gets the same fault, and changes nothing.
            if let look = try LedgerFile(lookingAt: folder.ledger, options: LedgerTests.options()) {
                _ = try LedgerContents(look)
                look.close()
            }
            #expect(folder.contents == before, "\(what): a read-only opening has changed it")
            opened = try LedgerFile(folder.ledger, options: LedgerTests.options())
        } catch {
            #expect(error.kind == .foreign || error.kind == .damaged && error.description.contains("put back a copy"), "\(what): \(error)")
            #expect(folder.contents == before, "\(what): a fault has changed it: \(error)")
            let again = LedgerTests.fault { () throws(StorageFault) in _ = try LedgerTests.ledger(folder) }
            #expect(again != nil && folder.contents == before, "\(what): the second opening accepted it: \(error)")
            return nil
        }
        let ledger = try #require(opened)
        let contents = try LedgerContents(ledger)
        // A write after the opening must be kept too.
        try ledger.set(LedgerID("new"), marketing, origin: "test")
        ledger.close()
        let next = try LedgerTests.ledger(folder)
        #expect(try next.get(LedgerID("new"))?.effective == [marketing], "\(what)")
        next.close()
        return contents
    }

    @Test("a ledger is complete after a kill")
    func whole() throws {
        let killed = try Killed()
        #expect(try open(killed.folder { _ in }, "as it is") == killed.contents)
    }

    @Test(
        "a cut, empty or missing log or main file is a fault that says how much is lost",
        arguments: [
            ("ledger.sqlite-wal", 0, "its last 27 transactions are gone, since its log was damaged, emptied or removed"),
            ("ledger.sqlite-wal", nil, "its last 27 transactions are gone"), ("ledger.sqlite-wal", 40, "its last 27 transactions are gone"),
            ("ledger.sqlite", 0, "the file holds 0 bytes only"), ("ledger.sqlite", 1, "the file holds 1 bytes only"),
            ("ledger.sqlite", nil, "the file is not there"),
        ] as [(String, Int?, String)])
    func gone(name: String, size: Int?, words: String) throws {
        let killed = try Killed()
        for hasLog in name == "ledger.sqlite" ? [true, false] : [true] {
            let folder = try killed.folder { files in
                files[name] = size.map { files[name]!.prefix($0) }
                if !hasLog { files["ledger.sqlite-wal"] = nil }
            }
            #expect(try open(folder, "\(name) of \(size as Any) bytes") == nil)
            let fault = LedgerTests.fault { () throws(StorageFault) in _ = try LedgerTests.ledger(folder) }
            #expect(
                fault?.description.contains(words) == true && fault?.description.contains("-wal and .witness") == true, "\(fault as Any)")
        }
    }

    @Test("a missing or empty ledger beside a damaged witness is a fault, and no new one is made")
    func goneWithDamagedWitness() throws {
        let killed = try Killed()
        for main in [nil, Data()] {
            for witness in [Data(), Data(repeating: 7, count: 8192)] {
                let folder = try killed.folder { files in
                    files["ledger.sqlite"] = main
                    files["ledger.sqlite-wal"] = nil
                    files["ledger.witness"] = witness
                }
                #expect(try open(folder, "\(main?.count ?? -1) \(witness.count)") == nil)
                let fault = LedgerTests.fault { () throws(StorageFault) in _ = try LedgerTests.ledger(folder) }
                #expect(fault?.description.contains("ledger.witness: is damaged") == true, "\(fault as Any)")
            }
        }
    }

    @Test("a flipped bit anywhere in the log is a fault, or changes nothing")
    func flippedLog() throws {
        let killed = try Killed()
        let size = killed.files["ledger.sqlite-wal"]!.count
        var faults = 0
        for at in stride(from: 5, to: size, by: 997) {
            let folder = try killed.folder { $0["ledger.sqlite-wal"]![at] ^= 1 << UInt8(at % 8) }
            if let contents = try open(folder, "bit \(at)") { #expect(contents == killed.contents, "bit \(at)") } else { faults += 1 }
        }
        #expect(faults > size / 997 / 2, "\(faults)")
    }

    @Test("a changed value in any column, a missing checksum or a missing row is a fault")
    func columns() throws {
        let killed = try Killed()
        let folder = try killed.folder { _ in }
        try LedgerTests.ledger(folder).close()
        let shell = try Database(folder.ledger)
        var changes: [String] = []
        let tables = ["about", "keys", "origins", "terms", "subjects", "history", "receipts", "receipt_lines", "proof", "seal"]
        for table in tables {
            let columns = try shell.statement("SELECT name, type, \"notnull\" + pk FROM pragma_table_info('\(table)')")
            while try columns.step() {
                let (name, kind) = (columns.text(0), columns.text(1))
                let other =
                    kind == "INTEGER"
                    ? "coalesce(\(name), 0) + 1000000" : "CAST(coalesce(\(name), '') || 'x' AS \(kind == "" ? "BLOB" : kind))"
                changes.append("UPDATE \(table) SET \(name) = \(other) WHERE rowid = (SELECT max(rowid) FROM \(table))")
                if columns.int(2) == 0 { changes.append("UPDATE \(table) SET \(name) = iif(\(name) IS NULL, 1, NULL) WHERE rowid = 1") }
            }
            changes.append("DELETE FROM \(table) WHERE rowid = (SELECT max(rowid) FROM \(table))")
        }
        shell.close()
        let whole = folder.contents
        for var change in changes {
            // A table without row numbers is filtered by its first column, which distinguishes its rows well enough.
            for (table, column) in [("about", "name"), ("history", "subject"), ("receipt_lines", "receipt")]
            where change.contains(" \(table) ") {
                change = change.replacingOccurrences(of: "rowid = 1", with: "\(column) IS NOT NULL").replacingOccurrences(
                    of: "rowid", with: column)
            }
            let damaged = Folder(inMemory: true)
            for (name, data) in whole { try data.write(to: URL(fileURLWithPath: damaged.path + "/" + name)) }
            let shell = try Database(damaged.ledger)
            try shell.run(change)
            let count = try shell.number("SELECT total_changes()") ?? 0
            shell.close()
            #expect(count > 0, "\(change)")
            #expect(try open(damaged, change) == nil, "\(change)")
        }
        #expect(changes.count > 60)
    }

    @Test(
        "any of 240 random damages to the main file, the log or both is a fault, or changes nothing",
        arguments: 0..<rounds(8))
    func random(seed: Int) throws {
        let killed = try Killed()
        var faults = 0
        for round in 0..<30 {
            var chance = Seeded(state: UInt64(seed * 1000 + round + 1))
            let damage = DamageKind.allCases[round % 5]
            let place = round / 5 % 3
            let folder = try killed.folder { files in
                if place != 1 { damage.damage(&files["ledger.sqlite"]!, page: 4096, head: 0, &chance) }
                if place != 0 { damage.damage(&files["ledger.sqlite-wal"]!, page: 4096 + 24, head: 32, &chance) }
            }
            let what = "seed \(seed), round \(round): \(damage) in \(["the main file", "the log", "both"][place])"
            if let contents = try open(folder, what) { #expect(contents == killed.contents, "\(what)") } else { faults += 1 }
        }
        #expect(faults > 5, "\(faults)")
    }

    @Test("a missing or damaged witness is only a warning, and a restored copy without log and witness is accepted")
    func copies() throws {
        let killed = try Killed()
        for change: (inout Data?) -> Void in [{ $0 = nil }, { $0 = Data(count: 8192) }, { $0 = Data() }] {
            let folder = try killed.folder { change(&$0["ledger.witness"]) }
            let said = Monitor([String]())
            var options = LedgerTests.options()
            options.warn = { line in said.withLock { $0.append(line) } }
            let ledger = try #require(try LedgerFile(folder.ledger, options: options))
            #expect(try LedgerContents(ledger) == killed.contents)
            ledger.close()
            #expect(said.withLock { $0.count == 1 && $0[0].contains("ledger.witness: ") }, "\(said.withLock { $0 })")
        }
        // The copy is older: beside the newer witness it is a ledger that has lost something.
        let folder = try killed.folder { _ in }
        let copied = folder.contents
        var ledger = try LedgerTests.ledger(folder)
        try ledger.set(LedgerID("after the copy"), marketing, origin: "test")
        ledger.close()
        for name in ["ledger.sqlite", "ledger.sqlite-wal"] { try copied[name]!.write(to: URL(fileURLWithPath: folder.path + "/" + name)) }
        #expect(try open(folder, "an older copy") == nil)
        unlink(folder.path + "/ledger.witness")
        ledger = try LedgerTests.ledger(folder)
        #expect(try LedgerContents(ledger) == killed.contents)
    }

    // MARK: - The format without checksums

    /// Makes a ledger in that format.
    private func old() throws -> (Folder, LedgerContents) {
        let folder = try Killed().folder { _ in }
        let ledger = try LedgerTests.ledger(folder)
        let contents = try LedgerContents(ledger)
        ledger.close()
        let shell = try Database(folder.ledger)
        for table in ["about", "keys", "origins", "terms", "subjects", "history", "receipts", "receipt_lines"] {
            try shell.run("ALTER TABLE \(table) DROP COLUMN checksum")
        }
        try shell.run("DROP TABLE proof; DROP TABLE seal; DROP TABLE evidence; PRAGMA user_version = 1")
        shell.close()
        unlink(folder.path + "/ledger.witness")
        unlink(folder.path + "/ledger.withdrawals")
        return (folder, contents)
    }

    @Test("a ledger of the older format is upgraded with its content and one warning, and cannot be downgraded afterwards")
    func upgrade() throws {
        let (folder, contents) = try old()
        let look = LedgerTests.fault { () throws(StorageFault) in
            _ = try LedgerFile(lookingAt: folder.ledger, options: LedgerTests.options())
        }
        #expect(look?.description.contains("has an older format") == true)
        let said = Monitor([String]())
        var options = LedgerTests.options()
        options.warn = { line in said.withLock { $0.append(line) } }
        for _ in 0..<2 {
            let ledger = try #require(try LedgerFile(folder.ledger, options: options))
            #expect(try LedgerContents(ledger) == contents)
            ledger.close()
        }
        #expect(said.withLock { $0.count == 1 && $0[0].contains("their content is trusted without a check") }, "\(said.withLock { $0 })")
        for change in ["PRAGMA user_version = 1", "PRAGMA user_version = 2", "DROP TABLE proof; PRAGMA user_version = 1"] {
            let shell = try Database(folder.ledger)
            try shell.run(change)
            shell.close()
            #expect(try open(folder, change) == nil)
        }
    }

    @Test("a ledger of the older format under other keys is left as it is")
    func foreignUpgrade() throws {
        let (folder, _) = try old()
        let before = folder.contents
        var other = LedgerTests.options()
        other.short = { _ in ShortHash(high: 1, low: 2) }
        let asked = other
        let fault = LedgerTests.fault { () throws(StorageFault) in _ = try LedgerFile(folder.ledger, options: asked) }
        #expect(fault?.kind == .foreign && folder.contents == before)
    }

    @Test("an upgrade is complete or not done at all, whichever disk call fails")
    func interruptedUpgrade() throws {
        let (folder, contents) = try old()
        let before = folder.contents
        var isDone = false
        for call in stride(from: Int64(0), to: 4000, by: 7) where !isDone {
            for (name, data) in before { try data.write(to: URL(fileURLWithPath: folder.path + "/" + name)) }
            for name in ["ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.witness"] { unlink(folder.path + "/" + name) }
            let disk = FaultyDisk()
            disk.fail(at: call, .io, stays: true)
            let asked = LedgerTests.options(vfs: disk.name)
            isDone = LedgerTests.fault { () throws(StorageFault) in try LedgerFile(folder.ledger, options: asked)?.close() } == nil
            disk.heal()
            let ledger = try LedgerTests.ledger(folder)
            #expect(try LedgerContents(ledger) == contents, "call \(call)")
            ledger.close()
        }
        #expect(isDone)
    }
}
