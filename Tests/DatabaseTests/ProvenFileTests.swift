import Foundation
import Platform
import Testing

@testable import Database

private let format = FileFormat(
    application: 0x5357_5999, version: 3, tables: "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL);", provenSince: 2)

private final class Folder {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    var file: String { path + "/x.sqlite" }
    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    /// Copies the files as a kill leaves them. Later writes to an open file do not reach the copy.
    func copy() throws -> Folder {
        let copy = Folder()
        for name in files where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy.path + "/" + name)
        }
        return copy
    }
    func bytes(_ end: String) -> Data { FileManager.default.contents(atPath: path + "/" + end) ?? Data() }
    func write(_ data: Data, _ name: String) throws { try data.write(to: URL(fileURLWithPath: path + "/" + name)) }
    func flip(_ name: String, _ offset: Int, _ mask: UInt8 = 1) throws {
        var data = bytes(name)
        data[offset] ^= mask
        try write(data, name)
    }
    func remove(_ name: String) { unlink(path + "/" + name) }
}

private func add(_ count: Int, to file: ProvenFile) throws {
    for _ in 0..<count {
        try file.transaction { () throws(StorageFault) in
            file.proof.last += 1
            file.proof[7].came += 1
            try file.database.statement("INSERT INTO rows VALUES (?1, 'row')").bind(1, file.proof.last).run()
        }
    }
}

private func made(_ folder: Folder) throws -> ProvenFile { try ProvenFile(making: folder.file, as: format, ProvenFile.Options()) }

private func open(_ folder: Folder, warn: Monitor<[String]> = Monitor([])) throws(StorageFault) -> ProvenFile.Opening {
    var options = ProvenFile.Options()
    options.warn = { line in warn.withLock { $0.append(line) } }
    return try ProvenFile.open(folder.file, as: format, options) { file, version throws(StorageFault) in
        file.proof[7].came = try file.database.number("SELECT count(*) FROM rows") ?? 0
    }
}

private func opened(_ folder: Folder, warn: Monitor<[String]> = Monitor([])) throws -> ProvenFile? {
    if case .open(let file) = try open(folder, warn: warn) { return file }
    return nil
}

extension Database {
    /// Creates the tables of version 1, which has neither a proof nor a witness.
    fileprivate func makeOldFormat() throws {
        try run("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON")
        try run(format.tables)
        try run("PRAGMA application_id = \(format.application); PRAGMA user_version = 1")
    }
}

private func damage(_ folder: Folder) throws -> Damage? {
    if case .damaged(let damage) = try open(folder) { return damage }
    return nil
}

@Suite("A file with a proof")
struct ProvenFileTests {
    /// Returns a folder after a kill: 20 rows were acknowledged, and 10 of them are only in the log.
    private func killed() throws -> Folder {
        let folder = Folder()
        var file = try made(folder)
        try add(10, to: file)
        file.close()
        file = try #require(try opened(folder))
        try add(10, to: file)
        return try folder.copy()
    }

    @Test("has everything that was acknowledged after a kill, and works on")
    func whole() throws {
        let folder = try killed()
        let warned = Monitor<[String]>([])
        let file = try #require(try opened(folder, warn: warned))
        #expect(try file.database.number("SELECT count(*) FROM rows") == 20)
        #expect(file.proof.sequence == 21 && file.proof[7].left == 20 && file.proof.last == 20)
        try add(1, to: file)
        #expect(try file.database.number("SELECT count(*) FROM rows") == 21)
        #expect(warned.withLock { $0 } == [])
    }

    @Test("notices all damage to its log that costs a transaction, counts the loss, and does not change the log")
    func log() throws {
        let sound = try killed()
        let size = sound.bytes("x.sqlite-wal").count
        #expect(size > 10 * 4096)
        var noticed = 0
        for cut in [0, 32, 5000, size / 2, size - 1] + Array(stride(from: 1, to: size, by: 1777)) {
            let folder = try sound.copy()
            if cut % 2 == 0 {
                try folder.write(sound.bytes("x.sqlite-wal")[..<cut], "x.sqlite-wal")
            } else {
                try folder.flip("x.sqlite-wal", cut, 0x10)
            }
            let log = folder.bytes("x.sqlite-wal")
            switch try open(folder) {
            case .open(let file): #expect(try file.database.number("SELECT count(*) FROM rows") == 20)
            case .absent: Issue.record("the file counts as absent")
            case .damaged(let damage):
                noticed += 1
                let loss = try #require(damage.losses(kept: [7: damage.proof?[7].left ?? 0])?.first)
                #expect(loss.expected == 20 && loss.lost == 20 - (damage.proof?[7].left ?? 0) && loss.lost > 0 && loss.lost <= 10)
                #expect(damage.words.contains("transactions are gone"), "\(damage.words)")
                #expect(folder.bytes("x.sqlite-wal") == log && folder.bytes("x.sqlite") == sound.bytes("x.sqlite"))
            }
        }
        #expect(noticed > 5)
        let folder = try sound.copy()
        folder.remove("x.sqlite-wal")
        #expect(try damage(folder)?.losses(kept: [7: 10]) == [.init(key: 7, expected: 20, lost: 10, again: 0)])
    }

    @Test("notices that the main file is missing, too short, or another file")
    func main() throws {
        let sound = try killed()
        for data in [nil, Data(), Data([1]), Data(count: 99)] {
            let folder = try sound.copy()
            if let data { try folder.write(data, "x.sqlite") } else { folder.remove("x.sqlite") }
            let found = try #require(try damage(folder))
            #expect(found.losses(kept: [:]) == [.init(key: 7, expected: 20, lost: 20, again: 0)])
            #expect(!found.isThere && folder.bytes("x.sqlite-wal") == sound.bytes("x.sqlite-wal"))
        }
        let log = try sound.copy()
        log.remove("x.sqlite")
        log.remove("x.witness")
        #expect(try #require(try damage(log)).losses(kept: [:]) == nil, "a log alone shows that there was a file")
        let other = Folder()
        try made(other).close()
        let folder = try sound.copy()
        folder.remove("x.sqlite-wal")
        try folder.write(other.bytes("x.sqlite"), "x.sqlite")
        let found = try #require(try damage(folder))
        #expect(found.isOther && found.losses(kept: [7: 5]) == [.init(key: 7, expected: 20, lost: 20, again: 0)])
    }

    @Test("with a damaged witness is damaged and not new, even if the main file is missing, empty, without tables or without a proof")
    func unreadableWitness() throws {
        let sound = try killed()
        try #require(try opened(sound)).close()
        let bare = Folder()
        let empty = try Database(bare.file)
        try empty.run("PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t")
        empty.close()
        let old = Folder()
        let before = try Database(old.file)
        try before.makeOldFormat()
        before.close()
        for (data, words) in [
            (nil, "the file is not there"), (Data(), "the file holds 0 bytes only"), (bare.bytes("x.sqlite"), "has no tables any more"),
            (old.bytes("x.sqlite"), "has no table 'proof' any more"),
        ] as [(Data?, String)] {
            for witness in [Data(), Data(repeating: 7, count: 8192)] {
                let folder = try sound.copy()
                folder.remove("x.sqlite-wal")
                if let data { try folder.write(data, "x.sqlite") } else { folder.remove("x.sqlite") }
                try folder.write(witness, "x.witness")
                let found = try #require(try damage(folder), "\(words)")
                #expect(found.words == "\(folder.file): \(words), and \(folder.path)/x.witness: is damaged")
                #expect(found.losses(kept: [:]) == nil && folder.bytes("x.witness") == witness)
            }
        }
    }

    @Test("warns about a damaged witness even if nothing was written yet, since the log may be lost")
    func newWithUnreadableWitness() throws {
        let folder = Folder()
        try made(folder).close()
        try folder.write(Data([1]), "x.witness")
        let warned = Monitor<[String]>([])
        _ = try #require(try opened(folder, warn: warned))
        #expect(warned.withLock { $0.count == 1 && $0[0].contains("x.witness: is damaged, so nobody can tell") })
    }

    @Test("warns once about a missing or damaged witness, and creates a new one")
    func witness() throws {
        for data in [nil, Data(), Data(repeating: 7, count: 8192)] {
            let folder = try killed()
            if let data { try folder.write(data, "x.witness") } else { folder.remove("x.witness") }
            let warned = Monitor<[String]>([])
            let file = try #require(try opened(folder, warn: warned))
            #expect(warned.withLock { $0.count == 1 && $0[0].contains("nobody can tell whether the newest") })
            #expect(Witness.look(folder.path + "/x.witness") == .found(file.proof.record(format.application)))
            file.close()
            let again = Monitor<[String]>([])
            _ = try #require(try opened(folder, warn: again))
            #expect(again.withLock { $0 } == [])
        }
    }

    @Test("with a flipped bit in its header is never taken for a file of an older or newer format or of another program")
    func marks() throws {
        let sound = try killed()
        let file = try #require(try opened(sound))
        file.close()
        for offset in Array(60..<64) + Array(68..<72) {
            for bit in 0..<8 as Range<UInt8> {
                for keepsWitness in [true, false] {
                    let folder = try sound.copy()
                    try folder.flip("x.sqlite", offset, 1 << bit)
                    if !keepsWitness { folder.remove("x.witness") }
                    #expect(try damage(folder) != nil, "\(offset) \(bit)")
                }
            }
        }
    }

    @Test("of a newer version is refused, with and without its witness")
    func newer() throws {
        let folder = Folder()
        let next = FileFormat(application: format.application, version: 4, tables: format.tables, provenSince: 2)
        try ProvenFile(making: folder.file, as: next, ProvenFile.Options()).close()
        for _ in 0..<2 {
            do {
                _ = try open(folder)
                Issue.record("the file was accepted")
            } catch {
                #expect(error.kind == .foreign && error.description.contains("newer version (format 4, not 3)"))
            }
            folder.remove("x.witness")
        }
    }

    @Test("of an older format is converted without changes to its rows, and never goes back")
    func upgrade() throws {
        let folder = Folder()
        let old = try Database(folder.file)
        try old.makeOldFormat()
        try old.run("INSERT INTO rows VALUES (1, 'a'), (2, 'b')")
        old.close()
        let file = try #require(try opened(folder))
        #expect(file.proof[7].came == 2 && file.proof.version == 3)
        #expect(Witness.look(folder.path + "/x.witness") == .found(file.proof.record(format.application)))
        file.close()
        let shell = try Database(folder.file)
        try shell.run("DROP TABLE proof; PRAGMA user_version = 1")
        shell.close()
        #expect(try damage(folder) != nil)
    }

    @Test("that is destroyed on purpose counts as absent, wherever a kill interrupts the destruction")
    func destroys() throws {
        let sound = try killed()
        let place = sound.path + "/x.witness"
        var record = WitnessRecord(application: 0, version: 0, database: 0, sequence: 1000)
        record.isDestroyed = true
        _ = try Witness(place, making: record)
        for gone in [[], ["x.sqlite-wal"], ["x.sqlite-wal", "x.sqlite"], ["x.sqlite-wal", "x.sqlite", "x.witness"]] {
            let folder = try sound.copy()
            for name in gone { folder.remove(name) }
            guard case .absent = try open(folder) else {
                Issue.record("\(gone)")
                continue
            }
            let file = try made(folder)
            #expect(try file.database.number("SELECT count(*) FROM rows") == 0)
            try add(1, to: file)
            #expect(try opened(folder.copy())?.proof[7].came == 1)
        }
        try ProvenFile.destroy(sound.file)
        #expect(sound.files == [])
    }

    @Test("that is destroyed after an interrupted rebuild does not come back from the draft, wherever a kill interrupts the destruction")
    func destroysRebuilt() throws {
        let sound = try killed()
        let file = try #require(try opened(sound))
        file.close()
        rename(sound.file, sound.file + ".rebuilt")
        // If the file is not destroyed, the next opening finishes the rebuild.
        let whole = try sound.copy()
        var record = file.proof.record(format.application)
        record.sequence -= 1
        _ = try Witness(whole.path + "/x.witness", making: record)
        #expect(try opened(whole)?.proof[7].came == 20)
        record.isDestroyed = true
        record.sequence += 9
        let cut = try sound.copy()
        _ = try Witness(cut.path + "/x.witness", making: record)
        try ProvenFile.destroy(sound.file)
        #expect(sound.files == [])
        for folder in [sound, cut] {
            guard case .absent = try open(folder) else {
                Issue.record("it came back")
                continue
            }
            #expect(!folder.files.contains("x.sqlite.rebuilt"))
        }
    }

    @Test("is destroyed without more disk space, since the existing witness is overwritten")
    func destroysInPlace() throws {
        let sound = try killed()
        // This folder makes it impossible to create a new witness.
        try FileManager.default.createDirectory(atPath: sound.path + "/x.witness.new", withIntermediateDirectories: false)
        try ProvenFile.destroy(sound.file)
        #expect(sound.files == ["x.witness.new"])
    }

    @Test("is rebuilt from what can be read, and the damaged file is kept and reported, wherever a kill interrupts the rebuild")
    func rebuilds() throws {
        for isMissing in [false, true] {
            let folder = try killed()
            if isMissing { folder.remove("x.sqlite") } else { folder.remove("x.sqlite-wal") }
            let found = try #require(try damage(folder))
            var states: [Folder] = []
            func rebuild(_ folder: Folder, _ tell: @escaping (String?) -> Void) throws -> ProvenFile {
                let damage = try #require(try damage(folder))
                return try ProvenFile.rebuild(
                    folder.file, as: format, options: ProvenFile.Options(), damage: damage, at: 5_000_000_000,
                    fill: { file, old throws(StorageFault) in
                        guard let old else { return }
                        let all = try old.statement("SELECT id FROM rows")
                        while try all.step() {
                            try file.database.statement("INSERT INTO rows VALUES (?1, 'row')").bind(1, all.int(0)).run()
                            file.proof[7].came += 1
                            file.proof.last = all.int(0)
                        }
                    }, tell: tell)
            }
            states.append(try folder.copy())
            let file = try rebuild(folder) { aside in
                #expect(aside == folder.file + ".damaged-5")
                states.append(try! folder.copy())
            }
            #expect(file.proof.sequence > found.witness!.sequence && file.proof[7].came == (isMissing ? 0 : 10))
            try add(1, to: file)
            #expect(try opened(folder.copy())?.proof[7].came == (isMissing ? 1 : 11))
            #expect(folder.files.contains(isMissing ? "x.sqlite.damaged-5-wal" : "x.sqlite.damaged-5"))
            // A kill before the old file is set aside: the file is found damaged again, and the rebuild is repeated.
            for state in states {
                #expect(try damage(state.copy()) != nil)
                #expect(try rebuild(state) { _ in }.proof[7].came == (isMissing ? 0 : 10))
                #expect(!state.files.contains("x.sqlite.rebuilt"))
            }
        }
        // A kill after the old file is set aside and before the new one is in its place.
        let folder = try killed()
        folder.remove("x.sqlite-wal")
        let witness = folder.bytes("x.witness")
        let found = try #require(try damage(folder))
        try ProvenFile.rebuild(
            folder.file, as: format, options: ProvenFile.Options(), damage: found, at: 5, fill: { file, _ in file.proof[7].came = 3 },
            tell: { _ in }
        ).close()
        try folder.write(witness, "x.witness")
        rename(folder.file, folder.file + ".rebuilt")
        try folder.write(Data(repeating: 1, count: 500), "x.sqlite-wal")
        let file = try #require(try opened(folder))
        let aside = folder.files.filter { $0.hasPrefix("x.sqlite.damaged-") && $0.hasSuffix("-wal") }
        #expect(file.proof[7].came == 3 && aside.contains { folder.bytes($0).count == 500 })
    }
}
