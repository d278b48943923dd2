import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import HeldEventStore

private func file(
    _ folder: Folder, key: String? = nil, vfs: String? = nil, makes: Bool = true, names: RunNames = RunNames(["a", "b"]),
    budget: DiskBudget? = nil
) throws(StorageFault) -> HeldFile? {
    var options = HeldFile.Options()
    options.cipher = key.map { Cipher(secret($0)) }
    options.vfs = vfs
    options.budget = budget
    return try HeldFile(path: folder.path + "/" + HeldFile.name, makes: makes, names: names, options: options)
}

private func subject(_ name: String) -> SubjectKey {
    SubjectKey(high: UInt64(name.utf8.first!), low: 7)
}

/// Returns an event of these subjects, one letter each, that came in at that time.
private func row(_ subjects: String, _ text: String, at arrival: Int64 = 1, routes: [UInt16] = [0], given: Int = 0) -> HeldRow {
    var row = HeldRow(
        arrival: arrival, bytes: text.utf8.count - given, subjects: subjects.map { subject(String($0)) }, routes: routes, source: "in")
    row.given = given
    return row
}

extension HeldFile {
    fileprivate func add(_ events: (row: HeldRow, text: String)...) throws(StorageFault) { try add(events) }

    fileprivate func add(_ events: [(row: HeldRow, text: String)]) throws(StorageFault) {
        let texts = events.map { Array($0.text.utf8) }
        // The bodies are next to each other in memory, as a judge has them.
        let all = texts.flatMap { $0 }
        try all.withUnsafeBufferPointer { (all) throws(StorageFault) in
            var at = 0
            let bodies = texts.map { text in
                defer { at += text.count }
                return UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[at..<at + text.count]))
            }
            try add(events.map(\.row)) { bodies[$0] }
        }
    }

    fileprivate func texts(of subjects: String, after id: Int64 = 0, most: Int = 100, bytes: Int = .max) throws(StorageFault) -> [String] {
        try events(of: subjects.map { subject(String($0)) }, after: id, most: most, bytes: bytes, except: { _ in false }).events.map {
            String(decoding: $0.body, as: UTF8.self)
        }
    }

    fileprivate func all() throws(StorageFault) -> [HeldRow] {
        var rows: [HeldRow] = []
        try readAll { rows.append($0) }
        return rows
    }
}

@Suite("A file of held events")
struct HeldFileTests {
    @Test("returns an event with all its values, even to a later run whose routes have other numbers")
    func roundTrip() throws {
        let folder = Folder()
        #expect(try file(folder, makes: false) == nil && folder.files == [])
        let first = try #require(try file(folder))
        var known = row("xy", "\"id\"{\"n\":1}", at: 5, routes: [1, 0], given: 4)
        known.key = "app"
        known.level = "all"
        try first.add((known, "\"id\"{\"n\":1}"))
        known.id = 1
        #expect(try first.all() == [known])
        first.close()
        let again = try #require(try file(folder, makes: false, names: RunNames(["b", "c", "a"])))
        known.routes = [0, 2]
        let found = try again.events(of: [subject("y")], after: 0, most: 9, bytes: 99, except: { _ in false })
        #expect(found.events == [HeldEvent(row: known, body: Array("\"id\"{\"n\":1}".utf8))] && found.next == nil)
        #expect(try again.oldest() == 5)
        again.close()
    }

    @Test("returns the events of some subjects in the order in which they came in, each once, in pages")
    func pages() throws {
        let folder = Folder()
        defer { withExtendedLifetime(folder) {} }
        let held = try #require(try file(folder))
        try held.add((0..<10).map { n in (row(n % 3 == 0 ? "x" : n % 3 == 1 ? "y" : "xy", "\(n)"), "\(n)") })
        try held.add((row("z", "10"), "10"))
        #expect(try held.texts(of: "x") == ["0", "2", "3", "5", "6", "8", "9"])
        #expect(try held.texts(of: "yx") == (0..<10).map(String.init))
        for most in 1...11 {
            for bytes in [1, 3, 1000] {
                var (all, at): ([Int64], Int64?) = ([], 0)
                while let after = at {
                    let page = try held.events(
                        of: [subject("x"), subject("y")], after: after, most: most, bytes: bytes, except: { $0 == 4 })
                    #expect(page.events.count <= min(most, bytes))
                    all += page.events.map(\.row.id)
                    at = page.next
                }
                #expect(all == [1, 2, 3, 5, 6, 7, 8, 9, 10], "pages of \(most) and \(bytes) bytes")
            }
        }
        held.close()
    }

    @Test("destroys the given events, so that no file of the folder holds them, and lets others wait for fewer routes")
    func destroys() throws {
        let folder = Folder()
        let held = try #require(try file(folder))
        try held.add((row("x", "planted-one", at: 3, routes: [0, 1]), "planted-one"), (row("x", "planted-two", at: 2), "planted-two"))
        #expect(folder.holds("planted-one"))
        try held.change(remove: [1, 99], narrow: [(2, [1])])
        try held.tidy()
        #expect(!folder.holds("planted-one") && folder.holds("planted-two"))
        #expect(try held.all().map(\.routes) == [[1]] && held.oldest() == 2)
        #expect(try held.texts(of: "x") == ["planted-two"])
        try held.change(remove: [2])
        try held.add((row("x", "later"), "later"))
        let ids = try held.all().map(\.id)
        #expect(ids == [3], "no number is used twice")
        held.close()
        for name in folder.files { #expect(folder.mode(name) == 0o600, "\(name)") }
    }

    @Test("finds the events that came in before a time")
    func byTime() throws {
        let folder = Folder()
        defer { withExtendedLifetime(folder) {} }
        let held = try #require(try file(folder))
        try held.add((1...5).map { (row("x", "\($0)", at: Int64(10 - $0)), "\($0)") })
        #expect(try held.rows(before: 8, most: 9).map(\.arrival) == [5, 6, 7])
        #expect(try held.rows(before: 8, most: 2).map(\.arrival) == [5, 6])
        held.close()
    }

    @Test("encrypts events under a key, opens them only with that key, and binds each to its place")
    func sealed() throws {
        let folder = Folder()
        let held = try #require(try file(folder, key: "one"))
        try held.add((row("x", "planted-one"), "planted-one"), (row("y", "planted-two"), "planted-two"))
        try held.tidy()
        #expect(!folder.holds("planted"))
        #expect(try held.texts(of: "xy") == ["planted-one", "planted-two"])
        try held.file.transaction { () throws(StorageFault) in
            try held.database.run("UPDATE events SET body = (SELECT body FROM events WHERE id = 1) WHERE id = 2")
        }
        #expect(try held.texts(of: "xy") == ["planted-one", ""], "a body that cannot be decrypted is empty")
        held.close()
        for key in [nil, "other"] as [String?] {
            var fault: StorageFault?
            do throws(StorageFault) { _ = try file(folder, key: key) } catch { fault = error }
            #expect(fault?.kind == .foreign)
        }
    }

    @Test("counts against the limit of the folder, and refuses what exceeds it")
    func budget() throws {
        let folder = Folder()
        let budget = DiskBudget(folder.path, most: 20, reserve: 0)
        let held = try #require(try file(folder, budget: budget))
        try held.add((row("x", "0123456789"), "0123456789"), (row("x", "01234"), "01234"))
        var fault: StorageFault?
        do throws(StorageFault) { try held.add((row("x", "012345"), "012345")) } catch { fault = error }
        #expect(fault?.kind == .full)
        try held.change(remove: [1])
        try held.add((row("x", "012345"), "012345"))
        held.close()
        try budget.allow(20)
    }

    @Test(
        "has an addition completely or not at all, whichever call fails, and works again afterwards",
        arguments: FaultyDisk.Fault.allCases)
    func everyCall(kind: FaultyDisk.Fault) throws {
        let disk = FaultyDisk()
        let texts = (0..<6).map { "event-\($0)-" + String(repeating: "x", count: 3000) }
        /// Returns the arrivals of the acknowledged events that are still there.
        func live(_ folder: Folder) -> [Int64] {
            var certain: [Int64] = []
            do throws(StorageFault) {
                guard let held = try file(folder, vfs: disk.name) else { return [] }
                for n in 0..<3 {
                    let two = [2 * n, 2 * n + 1].map { (row("x", texts[$0], at: Int64($0)), texts[$0]) }
                    do throws(StorageFault) {
                        try held.add(two)
                        certain += two.map(\.0.arrival)
                    } catch {
                        // The next addition is tried nevertheless, as the next block would be.
                    }
                }
                if certain.contains(0) {
                    try held.change(remove: [1])
                    certain.removeAll { $0 == 0 }
                }
                try held.tidy()
            } catch {}
            return certain
        }
        #expect(live(Folder(inMemory: true)) == [1, 2, 3, 4, 5])
        let calls = disk.calls
        try #require(calls > 50)
        for call in 0..<calls {
            let folder = Folder(inMemory: true)
            disk.fail(at: call, kind)
            let certain = live(folder)
            disk.heal()
            #expect(disk.openFiles == 0, "call \(call): a file was left open")
            let again = try #require(try file(folder, vfs: disk.name))
            let found = try again.all().map(\.arrival)
            #expect(Set(found).isSuperset(of: certain), "call \(call): \(found), certain \(certain)")
            // A refused event does not come back, unless nothing was written after it.
            let behind = certain.last ?? -1
            #expect(found.filter { $0 < behind && !certain.contains($0) && $0 != 0 }.isEmpty, "call \(call): \(found), certain \(certain)")
            try again.add((row("y", "after"), "after"))
            #expect(try again.texts(of: "y") == ["after"])
            again.close()
        }
    }

    @Test("can be looked at without being changed")
    func summary() throws {
        let folder = Folder()
        #expect(HeldSummary(in: folder.path) == nil)
        let held = try #require(try file(folder))
        try held.add((row("x", "12345", at: 9), "12345"))
        let summary = try #require(HeldSummary(in: folder.path))
        #expect(summary.events == 1 && summary.bytes == 5 && summary.oldest == 9 && summary.fault == nil)
        held.close()
        try Data("nothing of ours".utf8).write(to: URL(fileURLWithPath: folder.path + "/" + HeldFile.name))
        #expect(HeldSummary(in: folder.path)?.fault != nil)
    }
}
