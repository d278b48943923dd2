import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import HeldEventStore

private let (held, heldLog, heldWitness) = ("held.sqlite", "held.sqlite-wal", "held.witness")
private let person = SubjectKey(high: 1, low: 2)

private func open(_ folder: Folder, said: Monitor<[String]> = Monitor([]), makes: Bool = true) throws(StorageFault) -> HeldFile? {
    var options = HeldFile.Options()
    options.clock = hour
    options.say = { line in said.withLock { $0.append(line) } }
    return try HeldFile(path: folder.path + "/" + held, makes: makes, names: RunNames(["a", "b"]), options: options)
}

extension HeldFile {
    fileprivate func hold(_ texts: String...) throws(StorageFault) {
        for text in texts {
            let row = HeldRow(
                arrival: 1, bytes: text.utf8.count, subjects: [person, SubjectKey(high: 9, low: UInt64(text.utf8.count))], routes: [0, 1],
                source: "in")
            try Array(text.utf8).withUnsafeBufferPointer { (bytes) throws(StorageFault) in
                try add([row]) { _ in UnsafeRawBufferPointer(bytes) }
            }
        }
    }

    /// Returns all events that wait, as they are released.
    fileprivate func released() throws(StorageFault) -> [String] {
        try events(of: [person], after: 0, most: 1000, bytes: .max, except: { _ in false }).events.map {
            String(decoding: $0.body, as: UTF8.self)
        }
    }
}

private func text(_ number: Int) -> String { "held-\(number)-" + String(repeating: number > 20 ? "y" : "x", count: 900) }

/// Returns held events after a kill: most of the first 20 are in the main file, the others are in the log, and three were removed.
private func killed() throws -> Folder {
    let folder = Folder(inMemory: true)
    let file = try #require(try open(folder))
    for number in 1...20 { try file.hold(text(number)) }
    try file.tidy()
    for number in 21...40 { try file.hold(text(number)) }
    try file.change(remove: [1, 2, 3], narrow: [(4, [1])])
    return try folder.killed()
}

@Suite("Damaged held events")
struct HeldDamageTests {
    private static let originals = (1...40).map(text)
    private static let sound = Result { try killed() }

    @Test("are never released wrong, never crash the process, and are never lost silently", arguments: 0..<110 as Range<UInt64>)
    func damage(seed: UInt64) throws {
        let folder = try Self.sound.get().killed()
        var random = RandomDamage(seed)
        let done = try random.damage(folder, main: held, log: heldLog, page: 4096)
        let said = Monitor<[String]>([])
        let file = try #require(try open(folder, said: said))
        var rows: [HeldRow] = []
        try file.readAll { rows.append($0) }
        let texts = try file.released()
        let words = said.withLock { $0.joined(separator: "\n") }
        let outcome = DamageOutcome(
            waiting: Self.originals.dropFirst(3), removed: 3, found: texts, lost: file.loss?.events ?? 0, words: words)
        let tale = "seed \(seed), \(done)\(outcome)"
        #expect(Set(texts).isSubset(of: Self.originals) && Set(texts).count == texts.count && rows.count == texts.count, "\(tale)")
        #expect(rows.allSatisfy { $0.routes == [0, 1] || $0.id == 4 && $0.routes == [1] }, "\(tale)")
        #expect(outcome.isLossReported, "\(tale)")
        if outcome.again > 0 { #expect(words.contains("come again"), "\(tale)") }
        if file.loss != nil {
            #expect(words.contains(folder.path + "/" + held), "\(tale)")
            #expect(folder.files.contains { $0.hasPrefix("held.sqlite.damaged-3600") }, "\(tale)")
        }
        try file.hold("after")
        file.close()
        let later = try #require(try open(folder))
        #expect(try later.loss == nil && later.released() == texts + ["after"], "\(tale)")
        later.close()
    }

    @Test(
        "are counted and set aside if the log or the main file was cut, emptied or removed",
        arguments: [
            (heldLog, 0, 20), (heldLog, nil, 20), (heldLog, 40, 20), (held, 0, 37), (held, 1, 37), (held, nil, 37),
        ] as [(String, Int?, Int)])
    func gone(name: String, size: Int?, lost: Int) throws {
        let folder = try Self.sound.get().killed()
        let before = folder.bytes(name)
        if let size {
            try folder.write(before.prefix(size), name)
        } else {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        let said = Monitor<[String]>([])
        #expect(HeldSummary(in: folder.path)?.fault != nil)
        let file = try #require(try open(folder, said: said, makes: false))
        #expect(file.loss?.events == lost)
        let words = said.withLock { $0.joined(separator: "\n") }
        #expect(words.contains("\(lost) of 37 held events are lost"), "\(words)")
        let aside = folder.files.filter { $0.hasPrefix("held.sqlite.damaged-3600") }
        #expect(!aside.isEmpty && (name == held || folder.bytes("held.sqlite.damaged-3600").count > 4096), "\(aside)")
        file.close()
        let later = try #require(try open(folder, makes: false))
        #expect(later.loss == nil)
        later.close()
    }

    @Test("are lost alone if their body was changed, and the damaged file is set aside")
    func changed() throws {
        let folder = try Self.sound.get().killed()
        let shell = try Database(folder.path + "/" + held, makes: false)
        try shell.run("UPDATE events SET body = replace(body, 'held-7-', 'held-8-') WHERE id = 7")
        shell.close()
        let file = try #require(try open(folder))
        #expect(try file.loss?.events == 1 && file.released() == (4...40).filter { $0 != 7 }.map(text))
        file.close()
        #expect(folder.bytes("held.sqlite.damaged-3600").range(of: Data("held-8-xx".utf8)) != nil)
    }

    @Test("are not released if they are damaged while the file is open, and the next start rebuilds the file")
    func whileOpen() throws {
        let folder = try Self.sound.get().killed()
        let file = try #require(try open(folder))
        let shell = try Database(folder.path + "/" + held, makes: false)
        try shell.run("UPDATE events SET routes = '0' WHERE id = 7")
        shell.close()
        var fault: StorageFault?
        do throws(StorageFault) { _ = try file.released() } catch { fault = error }
        #expect(fault?.kind == .damaged)
        fault = nil
        do throws(StorageFault) { try file.change(remove: [7]) } catch { fault = error }
        #expect(fault?.kind == .damaged)
        file.closeKeepingLog()
        #expect(try #require(try open(folder)).loss?.events == 1)
    }

    @Test("are not reported as lost if they were destroyed on purpose or never existed")
    func onPurpose() throws {
        let folder = try Self.sound.get().killed()
        try ProvenFile.destroy(folder.path + "/" + held)
        #expect(try open(folder, makes: false) == nil && HeldSummary(in: folder.path) == nil)
        let file = try #require(try open(folder))
        #expect(file.loss == nil)
        file.close()
    }

    @Test("of an older format without checksums are taken over as they are, with one message")
    func upgrade() throws {
        let folder = Folder(inMemory: true)
        let old = try Database(folder.path + "/" + held)
        try old.run(
            """
            PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
            CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            CREATE TABLE routes (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, arrival INTEGER NOT NULL, bytes INTEGER NOT NULL, routes TEXT NOT NULL,
              source TEXT NOT NULL, key TEXT, level TEXT, subjects BLOB NOT NULL, given INTEGER NOT NULL, sealed INTEGER NOT NULL,
              body BLOB NOT NULL);
            CREATE INDEX arrivals ON events (arrival);
            CREATE TABLE waiting (subject BLOB NOT NULL, event INTEGER NOT NULL, PRIMARY KEY (subject, event)) WITHOUT ROWID;
            PRAGMA application_id = \(HeldSchema.kind.format.application); PRAGMA user_version = 1;
            INSERT INTO routes VALUES (0, 'b');
            INSERT INTO events VALUES (41, 5, 3, '0', 'in', NULL, NULL, x'01000000000000000200000000000000', 0, 0, CAST('old' AS BLOB));
            INSERT INTO waiting VALUES (x'01000000000000000200000000000000', 41);
            """)
        old.close()
        let said = Monitor<[String]>([])
        var file = try #require(try open(folder, said: said))
        #expect(try file.released() == ["old"] && file.loss == nil)
        #expect(said.withLock { $0.count == 1 && $0[0].contains("in format 1, without checksums; it was taken over as it is") })
        try file.hold("new")
        var ids: [Int64] = []
        try file.readAll { ids.append($0.id) }
        #expect(ids == [41, 42])
        file.close()
        // A changed version does not bring the old format back.
        let shell = try Database(folder.path + "/" + held, makes: false)
        try shell.run("UPDATE events SET checksum = NULL WHERE id = 41; PRAGMA user_version = 1")
        shell.close()
        file = try #require(try open(folder, said: said))
        #expect(try file.released() == ["new"] && file.loss?.events == 1)
        file.close()
    }
}
