import Foundation
import Platform
import StateFiles
import StoreFixtures
import Testing

@testable import Admission
@testable import DeadLetterStore

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
        #expect(throws: StorageFault.self) { try blind.letters(.init()) }
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
