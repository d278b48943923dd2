import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import DeadLetterStore

private let (letters, lettersLog, lettersWitness) = ("dead-letters.sqlite", "dead-letters.sqlite-wal", "dead-letters.witness")

private func open(
    _ folder: Folder, said: Monitor<[String]> = Monitor([]), makes: Bool = true, mends: Bool? = nil, vfs: String? = nil
) throws(StorageFault) -> DeadLetterFile? {
    try DeadLetterFile(folder.path + "/" + letters, makes: makes, mends: mends, at: 3_600_000_000_000, vfs: vfs) { line in
        said.withLock { $0.append(line) }
    }
}

extension DeadLetterFile {
    fileprivate func keep(_ texts: String...) throws(StorageFault) {
        try bury(batch(texts), at: 5, provider: "out", routes: ["r"], reason: "rejected", code: 400, answer: "no", attempts: 2)
    }

    /// Returns all letters that can be given out.
    fileprivate func all() throws(StorageFault) -> [DeadLetter] {
        var (all, page): ([DeadLetter], [DeadLetter]) = ([], [])
        repeat {
            page = try letters(Choice(), after: all.last?.id ?? 0)
            all += page
        } while !page.isEmpty
        return all
    }

    fileprivate func events() throws(StorageFault) -> [String] { try all().map { String(decoding: $0.event, as: UTF8.self) } }
}

private func text(_ number: Int) -> String { "letter-\(number)-" + String(repeating: number > 20 ? "y" : "x", count: 900) }

/// Returns dead letters after a kill: the first 20 are in the main file, the others are in the log, and three were removed.
private func killed() throws -> Folder {
    let folder = Folder(inMemory: true)
    let file = try #require(try open(folder))
    for number in 1...20 { try file.keep(text(number)) }
    try file.tidy()
    for number in 21...40 { try file.keep(text(number)) }
    try file.remove([1, 2, 3])
    return try folder.killed()
}

@Suite("Damaged dead letters")
struct DeadLetterDamageTests {
    private static let originals = (1...40).map(text)
    private static let sound = Result { try killed() }

    @Test("are never given out wrong, never crash the process, and are never lost silently", arguments: 0..<110 as Range<UInt64>)
    func damage(seed: UInt64) throws {
        let folder = try Self.sound.get().killed()
        var random = RandomDamage(seed)
        let done = try random.damage(folder, main: letters, log: lettersLog, page: 4096)
        let said = Monitor<[String]>([])
        let file = try #require(try open(folder, said: said))
        let found = try file.all()
        let texts = found.map { String(decoding: $0.event, as: UTF8.self) }
        let words = said.withLock { $0.joined(separator: "\n") }
        let outcome = DamageOutcome(
            waiting: Self.originals.dropFirst(3), removed: 3, found: texts, lost: file.loss?.events ?? 0, words: words)
        let tale = "seed \(seed), \(done)\(outcome)"
        #expect(Set(texts).isSubset(of: Self.originals) && Set(texts).count == texts.count, "\(tale)")
        #expect(found.allSatisfy { $0.provider == "out" && $0.route == "r" && $0.code == 400 && $0.at == 5 && $0.level == "" }, "\(tale)")
        #expect(try file.counts().reduce(0) { $0 + $1.count } == texts.count, "\(tale)")
        #expect(outcome.isLossReported, "\(tale)")
        if outcome.again > 0 { #expect(words.contains("come again"), "\(tale)") }
        if file.loss != nil {
            #expect(words.contains(folder.path + "/" + letters), "\(tale)")
            #expect(folder.files.contains { $0.hasPrefix("dead-letters.sqlite.damaged-3600") }, "\(tale)")
        }
        try file.keep("after")
        file.close()
        let later = try #require(try open(folder))
        #expect(try later.loss == nil && later.events() == texts + ["after"], "\(tale)")
        later.close()
    }

    @Test(
        "are counted and set aside if the log or the main file was cut, emptied or removed",
        arguments: [
            (lettersLog, 0, 20), (lettersLog, nil, 20), (lettersLog, 40, 20), (letters, 0, 37), (letters, 1, 37), (letters, nil, 37),
        ] as [(String, Int?, Int)])
    func gone(name: String, size: Int?, lost: Int) throws {
        let folder = try Self.sound.get().killed()
        let before = folder.bytes(name)
        if let size {
            try folder.write(before.prefix(size), name)
        } else {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        // SQLite creates an empty log if there is none.
        let kept = { folder.files.filter { !$0.hasSuffix("-shm") && !($0.hasSuffix("-wal") && folder.bytes($0).isEmpty) } }
        let files = kept()
        var fault: StorageFault?
        do throws(StorageFault) { _ = try open(folder, makes: false) } catch { fault = error }
        #expect(fault?.kind == .damaged && kept() == files, "an opening that does not mend changes nothing")
        let said = Monitor<[String]>([])
        let file = try #require(try open(folder, said: said, makes: false, mends: true))
        #expect(file.loss?.events == lost)
        let words = said.withLock { $0.joined(separator: "\n") }
        #expect(words.contains("\(lost) of 37 dead letters are lost"), "\(words)")
        #expect(folder.files.contains { $0.hasPrefix("dead-letters.sqlite.damaged-3600") })
        file.close()
        #expect(try #require(try open(folder, makes: false)).loss == nil)
    }

    @Test(
        "are lost alone if one of their columns was changed, and the damaged file is set aside",
        arguments: [
            "event = replace(event, 'letter-7-', 'letter-8-')", "provider = 'other'", "subjects = x''", "level = NULL", "sealed = 1",
            "arrival = arrival - 1", "checksum = NULL",
        ])
    func changed(change: String) throws {
        let folder = try Self.sound.get().killed()
        let shell = try Database(folder.path + "/" + letters, makes: false)
        try shell.run("UPDATE letters SET \(change) WHERE id = 7")
        shell.close()
        let file = try #require(try open(folder))
        #expect(try file.loss?.events == 1 && file.events() == (4...40).filter { $0 != 7 }.map(text))
        file.close()
        #expect(folder.bytes("dead-letters.sqlite.damaged-3600").count > 4096)
    }

    @Test("are not given out and not removed if they are damaged while the file is open")
    func whileOpen() throws {
        let folder = try Self.sound.get().killed()
        let file = try #require(try open(folder))
        let shell = try Database(folder.path + "/" + letters, makes: false)
        try shell.run("UPDATE letters SET route = 's' WHERE id = 7")
        shell.close()
        var faults: [StorageFault.Kind] = []
        do throws(StorageFault) { _ = try file.all() } catch { faults.append(error.kind) }
        do throws(StorageFault) { _ = try file.letters(of: [SubjectKey(high: 1, low: 1)], after: 0) } catch { faults.append(error.kind) }
        do throws(StorageFault) { try file.remove([6, 7]) } catch { faults.append(error.kind) }
        #expect(faults == [.damaged, .damaged, .damaged])
        file.closeKeepingLog()
        #expect(try #require(try open(folder)).loss?.events == 1)
    }

    @Test("do not come from several connections that add, read and remove letters at the same time")
    func shared() throws {
        let folder = Folder(inMemory: true)
        let first = try #require(try open(folder))
        let second = try #require(try open(folder))
        for number in 0..<20 {
            try first.keep("first-\(number)")
            try second.keep("second-\(number)")
            let look = try #require(try open(folder, makes: false))
            #expect(try look.loss == nil && look.all().count == 2 * number + 2 - number)
            look.close()
            try (number % 2 == 0 ? first : second).remove([Int64(number + 1)])
        }
        let killed = try folder.killed()
        for file in [first, second] { file.close() }
        for folder in [folder, killed] {
            let again = try #require(try open(folder))
            #expect(try again.loss == nil && again.all().count == 20)
            again.close()
        }
        // The witness records the last commit of any connection.
        try killed.write(Data(), lettersLog)
        try folder.write(Data(), letters)
        #expect(try #require(try open(folder)).loss?.events == 20)
    }

    @Test("are not reported as lost if a person removed the file on purpose")
    func onPurpose() throws {
        let folder = try Self.sound.get().killed()
        let path = folder.path + "/" + letters
        try #require(try open(folder)).close()
        try DeadLetterFile.forgetRemoved(path)
        #expect(try #require(try open(folder)).all().count == 37, "a file that exists is not forgotten")
        try FileManager.default.removeItem(atPath: path)
        for companion in [lettersLog, "dead-letters.sqlite-shm"] {
            try? FileManager.default.removeItem(atPath: folder.path + "/" + companion)
        }
        try DeadLetterFile.forgetRemoved(path)
        #expect(try open(folder, makes: false) == nil && folder.files.isEmpty)
    }

    @Test("of an older format without checksums are taken over as they are, with one message", arguments: [1, 2])
    func upgrade(version: Int) throws {
        let folder = Folder(inMemory: true)
        let old = try Database(folder.path + "/" + letters)
        try old.run(
            """
            PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
            CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            CREATE TABLE letters (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, provider TEXT NOT NULL, route TEXT NOT NULL,
              reason TEXT NOT NULL, attempts INTEGER NOT NULL, code INTEGER NOT NULL, answer TEXT NOT NULL, arrival INTEGER NOT NULL,
              subjects BLOB NOT NULL, sealed INTEGER NOT NULL, event BLOB NOT NULL\(version == 2 ? ", level TEXT DEFAULT ''" : ""));
            CREATE INDEX letters_by_provider ON letters (provider, id);
            PRAGMA application_id = \(DeadLetterFile.kind.format.application); PRAGMA user_version = \(version);
            INSERT INTO letters (id, at, provider, route, reason, attempts, code, answer, arrival, subjects, sealed, event)
              VALUES (41, 1, 'out', 'r', 'rejected', 1, 400, 'no', 1, x'', 0, CAST('old' AS BLOB));
            """)
        old.close()
        let said = Monitor<[String]>([])
        var file = try #require(try open(folder, said: said, makes: false))
        #expect(try file.events() == ["old"] && file.all()[0].level == "" && file.loss == nil)
        #expect(said.withLock { $0.count == 1 && $0[0].contains("in format \(version), without checksums; it was taken over as it is") })
        try file.keep("new")
        #expect(try file.all().map(\.id) == [41, 42])
        file.close()
        // A changed version does not bring the old format back.
        let shell = try Database(folder.path + "/" + letters, makes: false)
        try shell.run("UPDATE letters SET checksum = NULL WHERE id = 41; PRAGMA user_version = \(version)")
        shell.close()
        file = try #require(try open(folder, said: said))
        #expect(try file.events() == ["new"] && file.loss?.events == 1)
        file.close()
    }

    @Test("of an older format that cannot be read are set aside, and the loss is reported")
    func damagedOld() throws {
        let folder = Folder(inMemory: true)
        try folder.write(
            Data("no database at all, and more than a hundred bytes of it, so that it might be one of them.".utf8) + Data(count: 99),
            letters)
        let said = Monitor<[String]>([])
        let file = try #require(try open(folder, said: said))
        #expect(try file.loss?.events == 1 && file.all().isEmpty)
        #expect(said.withLock { $0.count == 1 && $0[0].contains("an unknown number of dead letters are lost") })
        try file.keep("new")
        file.close()
    }
}
