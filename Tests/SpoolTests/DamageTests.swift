import Database
import Foundation
import Platform
import TestSupport
import Testing

@testable import Admission
@testable import Spool

@Suite("A damaged spool")
struct DamageTests {
    /// Creates and closes a spool of 200 rows of 3 kB. Returns its path.
    private func filled(_ folder: Folder) throws -> String {
        let file = try spool(folder)
        for row in 1...200 as ClosedRange<Int64> { try file.commit(.insert((row, ["row-\(row)-" + String(repeating: "x", count: 3000)]))) }
        file.close()
        return folder.path + "/spool-x.sqlite"
    }

    private func overwrite(_ path: String, at offset: UInt64, _ count: Int) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data(repeating: 0xa5, count: count))
        try handle.close()
    }

    @Test("does not stop the start: it is set aside as it is, and a new one replaces it")
    func noDatabase() throws {
        let folder = Folder()
        let path = folder.path + "/spool-x.sqlite"
        try Data("this was a spool once".utf8 + [UInt8](repeating: 7, count: 5000)).write(to: URL(fileURLWithPath: path))
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        // The number of lost events is unknown. It counts as 1, so that the run does not end as if nothing was lost.
        #expect(file.contents.events == 1)
        let loss = try #require(file.takeLoss())
        #expect(loss.routes.values.reduce(0, +) == 1 && loss.words.contains("an unknown number of events"))
        #expect(file.contents.events == 0)
        try file.commit(.insert((1, ["works"])))
        #expect(folder.files.contains("spool-x.sqlite.damaged-3600"))
        let words = said.withLock { $0 }
        #expect(
            words.count == 1 && words[0].contains("set aside as \(path).damaged-3600, 0 events were read from it, an unknown number"),
            "\(words)")
    }

    @Test("returns the rows that can be read, counts the others as lost, and works on")
    func inTheMiddle() throws {
        let folder = Folder()
        let path = try filled(folder)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as! UInt64
        for offset in stride(from: size / 2 / 8192 * 8192, to: size / 2 + 50_000, by: 8192) { try overwrite(path, at: offset, 8000) }
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        let rows = try file.all()
        #expect(rows.count > 100 && rows.count < 200, "\(rows.count)")
        #expect(rows.first?.hasPrefix("1: row-1-") == true && rows.last?.hasPrefix("200: row-200-") == true)
        let loss = file.takeLoss()
        #expect((loss?.routes[0] ?? 0) + rows.count == 200)
        #expect(file.contents.events == rows.count)
        try file.commit(.insert((1000, ["after"])))
        #expect(try file.all().count == rows.count + 1)
        #expect(said.withLock { $0.contains { $0.contains("set aside as") && $0.contains("of 200 events are lost") } })
    }

    @Test(
        "moves a row that makes no sense into a separate table, and returns the others",
        arguments: [
            "UPDATE batches SET payload = 'no newline' WHERE id = 2", "UPDATE batches SET entries = x'00' WHERE id = 2",
            "UPDATE batches SET events = 9 WHERE id = 2", "UPDATE batches SET events = -1 WHERE id = 2",
            "UPDATE batches SET entries = substr(entries, 1, 4) || x'ff7f' || substr(entries, 7) WHERE id = 2",
            "UPDATE batches SET sealed = 1 WHERE id = 2",
        ])
    func senseless(sql: String) throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["one"]), (2, ["two"]), (3, ["three"])))
        file.close()
        let shell = try Database(folder.path + "/spool-x.sqlite", makes: false)
        try shell.run(sql)
        shell.close()
        let again = try spool(folder)
        #expect(try again.all() == ["1: one", "3: three"])
        let loss = try #require(again.takeLoss())
        #expect(loss.routes == [0: 1] && loss.words.contains("1 events are damaged; they are kept in its table 'damaged'"))
        #expect(again.takeLoss() == nil)
        #expect(again.contents.events == 2)
    }

    @Test("with random bytes in it never crashes the process", arguments: 0..<rounds(40) as Range<UInt64>)
    func fuzz(seed: UInt64) throws {
        let folder = Folder()
        let path = try filled(folder)
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func chance() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as! UInt64
        for _ in 0..<(1 + chance() % 20) { try overwrite(path, at: chance() % size, Int(1 + chance() % 200)) }
        guard let fault = use(folder) else { return }
        #expect(fault.kind == .foreign, "only a damaged mark or version may make the file foreign: \(fault)")
    }

    private func use(_ folder: Folder) -> SpoolFault? {
        do throws(SpoolFault) {
            let file = try spool(folder)
            let rows = try file.all()
            #expect(rows.count <= 200)
            do throws(SpoolFault) {
                try file.commit(.insert((5000, ["after"])))
            } catch {
                // Damage that a commit finds is repaired. Then the commit can be tried again, as a lane does.
                guard error.kind == .damaged else { throw error }
                try file.commit(.insert((5000, ["after"])))
            }
            let last = try file.all().last
            #expect(last == "5000: after")
            return nil
        } catch {
            return error
        }
    }
}

@Suite("A state folder")
struct StateFolderTests {
    @Test("belongs to one router at a time, and tells another router the process ID of that one")
    func claims() throws {
        let folder = Folder()
        let path = folder.path + "/state"
        let first = try StateFolder.claim(path)
        #expect(folder.mode("state") == 0o700)
        #expect(StateFolder.owner(of: path) == getpid())
        do {
            _ = try StateFolder.claim(path)
            Issue.record("two routers have the folder")
        } catch let taken as StateFolder.Taken {
            #expect(taken.pid == getpid())
        }
        withExtendedLifetime(first) {}
    }

    @Test("is free again when its router has ended, even if it was killed")
    func frees() throws {
        let folder = Folder()
        try Data("99999\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/router.pid"))
        #expect(StateFolder.owner(of: folder.path) == nil)
        _ = try StateFolder.claim(folder.path)
        #expect(StateFolder.owner(of: folder.path) == nil)
    }

    @Test("names the file of a spool after its provider, whatever its name", arguments: ["out", "a b/c", "ärger", "%41", "..", "A_b-9"])
    func names(name: String) {
        let file = StateFolder.spool(of: name, in: "/x")
        #expect(file.dropFirst(3).allSatisfy { $0 != "/" })
        #expect(StateFolder.provider(of: String(file.dropFirst(3))) == name)
    }

    @Test("creates its key once, and throws if the key file is damaged")
    func key() throws {
        let folder = Folder()
        let state = try StateFolder.claim(folder.path)
        let key = try state.key()
        #expect(key.count == 16)
        #expect(try state.key() == key)
        #expect(folder.mode("subject.key") == 0o600)
        try Data([1, 2]).write(to: URL(fileURLWithPath: folder.path + "/subject.key"))
        #expect(throws: SpoolFault.self) { try state.key() }
    }
}

@Suite("Dead letters")
struct DeadLetterTests {
    private func file(_ folder: Folder, key: String? = nil) throws -> DeadLetterFile {
        try #require(try DeadLetterFile(folder.path + "/dead-letters.sqlite", cipher: key.map { Cipher(secret($0)) }))
    }

    @Test("are found by provider and time, counted, and removed one by one")
    func choices() throws {
        let folder = Folder()
        let letters = try file(folder)
        try letters.bury(
            batch(["planted", "two"]), at: 10, provider: "a", routes: ["r"], reason: "rejected", code: 400, answer: "no", attempts: 2)
        try letters.bury(batch(["three"]), at: 20, provider: "b", routes: ["r"], reason: "expired", code: 0, answer: "", attempts: 9)
        #expect(try letters.counts().map { "\($0.provider) \($0.reason) \($0.count)" } == ["a rejected 2", "b expired 1"])
        #expect(try letters.letters(.init(provider: "b")).map { String(decoding: $0.event, as: UTF8.self) } == ["three"])
        #expect(try letters.letters(.init(since: 11)).count == 1)
        let first = try #require(try letters.letters(.init()).first)
        #expect(first.attempts == 2 && first.code == 400 && first.answer == "no" && first.route == "r" && first.arrival == 7)
        try letters.remove([first.id])
        try letters.tidy()
        #expect(try letters.letters(.init()).map { String(decoding: $0.event, as: UTF8.self) } == ["two", "three"])
        #expect(!folder.holds("planted"))
    }

    @Test("are encrypted like spools, and need the key to be read")
    func seals() throws {
        let folder = Folder()
        let letters = try file(folder, key: "0123456789abcdef")
        try letters.bury(batch(["planted"]), at: 1, provider: "a", routes: ["r"], reason: "rejected", code: 1, answer: "", attempts: 1)
        #expect(!folder.holds("planted"))
        #expect(try letters.letters(.init()).count == 1)
        letters.close()
        let blind = try file(folder)
        #expect(throws: SpoolFault.self) { try blind.letters(.init()) }
        #expect(try blind.counts().first?.count == 1)
    }

    @Test("keep the level under which they were admitted")
    func levels() throws {
        let folder = Folder()
        let letters = try file(folder)
        let entries = [EntryLevel.none, EntryLevel.entry(of: 1), EntryLevel.highest]
        for (index, level) in entries.enumerated() {
            try letters.bury(
                batch(["\(index)"], subjects: 2, level: level), at: 1, provider: "a", routes: ["r"], levels: ["low", "high"],
                reason: "rejected", code: 1, answer: "", attempts: 1)
        }
        #expect(try letters.letters(.init()).map(\.level) == ["", "high", nil])
        #expect(try letters.letters(.init()).first?.subjects == [SubjectKey(high: 1, low: 0), SubjectKey(high: 1, low: 1)])
    }

    @Test("are removed when they are too old for their provider and route, and the next due time is returned")
    func expire() throws {
        let folder = Folder()
        let letters = try file(folder)
        // The arrival of each event is its length.
        for provider in ["a", "b"] {
            try letters.bury(
                batch(["planted-old", "x"]), at: 50, provider: provider, routes: ["r"], reason: "rejected", code: 1, answer: "", attempts: 1
            )
        }
        #expect(try letters.expire(at: 100) { _, _ in nil } == (0, nil))
        #expect(try letters.expire(at: 100) { provider, route in provider == "a" && route == "r" ? 100 : nil } == (0, 101))
        #expect(try letters.expire(at: 101) { provider, _ in provider == "a" ? 100 : nil } == (1, 111))
        #expect(try letters.expire(at: 101) { provider, _ in provider == "a" ? 50 : 100 } == (2, 111), "each provider has its own limit")
        #expect(try letters.expire(at: 111) { _, _ in 100 } == (1, nil))
        try letters.tidy()
        #expect(try letters.counts().isEmpty && !folder.holds("planted"))
    }

    @Test("of some subjects are found page by page")
    func ofSubjects() throws {
        let folder = Folder()
        let letters = try file(folder)
        let many = (0..<1200).map { $0 % 2 == 0 ? "aa" : "bbb" }
        try letters.bury(batch(many), at: 1, provider: "a", routes: ["r"], reason: "rejected", code: 1, answer: "", attempts: 1)
        var (found, row): ([DeadLetter], Int64?) = ([], 0)
        while let after = row {
            let page = try letters.letters(of: [SubjectKey(high: 2, low: 0), SubjectKey(high: 9, low: 0)], after: after)
            found += page.found
            row = page.next
        }
        #expect(found.count == 600 && found.allSatisfy { $0.event == Array("aa".utf8) })
    }

    @Test("do not exist without a file, and a look creates no file")
    func absent() throws {
        let folder = Folder()
        #expect(try DeadLetterFile(folder.path + "/dead-letters.sqlite", makes: false) == nil)
        #expect(folder.files.isEmpty)
    }
}
