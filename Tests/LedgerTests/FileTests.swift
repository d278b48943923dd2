import ConsentGate
import Database
import Foundation
import Platform
import Testing

@testable import Ledger

@Suite("The ledger's file")
struct FileTests {
    @Test("only its owner can read it, and opening with `makes: false` does not create it")
    func mode() throws {
        let folder = Folder()
        #expect(try LedgerFile(folder.ledger, makes: false, options: options()) == nil)
        #expect(folder.files.isEmpty)
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("x"), marketing, origin: "command")
        for file in folder.files {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }
        ledger.close()
        #expect(folder.files == ["ledger.sqlite", "ledger.witness"])
    }

    @Test("the file never holds a raw id, or anything that was removed")
    func noRawIDs() throws {
        let folder = Folder()
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("planted-user"), marketing, origin: "command")
        try ledger.tie([LedgerID("planted-user"), LedgerID("planted-device")])
        _ = try ledger.beginReceipt(of: LedgerID("planted-user"), origin: "command")
        let hmac = Data(first.hmac(Array("planted-device".utf8)))
        func holdsDevice() -> Bool {
            folder.files.contains { FileManager.default.contents(atPath: folder.path + "/" + $0)?.range(of: hmac) != nil }
        }
        #expect(!folder.holds("planted"))
        #expect(holdsDevice(), "the search finds what is there")
        try ledger.untie(LedgerID("planted-device"))
        try ledger.tidy()
        #expect(!holdsDevice() && !folder.holds("planted"))
    }

    @Test(
        "a file that is damaged, empty or of another program is a fault that names the remedy, and is left as it is",
        arguments: [
            (Data("this was a ledger once".utf8) + Data(repeating: 7, count: 5000), .damaged, "put back a copy"),
            (Data(), .damaged, "is empty; events that need consent are denied: put back a copy"),
            (nil, .foreign, "is a database of another program; it is left as it is"),
        ] as [(Data?, StorageFault.Kind, String)])
    func refused(content: Data?, kind: StorageFault.Kind, words: String) throws {
        let folder = Folder()
        if let content {
            try content.write(to: URL(fileURLWithPath: folder.ledger))
        } else {
            let other = try Database(folder.ledger)
            try other.run("PRAGMA application_id = 7; CREATE TABLE theirs (x)")
            other.close()
        }
        let before = FileManager.default.contents(atPath: folder.ledger)
        let fault = fault { () throws(StorageFault) in _ = try ledger(folder) }
        #expect(fault?.kind == kind)
        #expect(fault?.description.hasPrefix(folder.ledger) == true && fault?.description.contains(words) == true, "\(fault as Any)")
        #expect(FileManager.default.contents(atPath: folder.ledger) == before)
    }

    @Test("a missing file whose log exists is a fault, because a new file would use the old log")
    func onlyTheLog() throws {
        let folder = Folder()
        let kept = try ledger(folder)
        try kept.set(LedgerID("x"), marketing, origin: "command")
        try FileManager.default.removeItem(atPath: folder.ledger)
        let fault = fault { () throws(StorageFault) in _ = try LedgerFile(folder.ledger, makes: false, options: options()) }
        #expect(fault?.kind == .damaged && fault?.description.contains("the file is not there; events that need") == true)
        withExtendedLifetime(kept) {}
    }

    @Test("two names that differ only after a zero byte are different")
    func zeroByte() throws {
        let folder = Folder()
        var ledger = try ledger(folder)
        try ledger.set(LedgerID("x"), ConsentTerms(level: "marketing"), origin: "command")
        try ledger.set(LedgerID("y"), ConsentTerms(level: "marketing\0none"), origin: "command")
        ledger.close()
        ledger = try LedgerTests.ledger(folder)
        #expect(try ledger.get(LedgerID("y"))?.record?.terms.level == "marketing\0none")
    }

    @Test(
        "an invalid row is a fault, and not a subject without consent",
        arguments: [
            "UPDATE subjects SET short = x'00'", "UPDATE subjects SET terms = 99", "UPDATE terms SET denied = 'ads'",
            "UPDATE terms SET granted = '[1]'",
        ])
    func senseless(sql: String) throws {
        let folder = Folder()
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("x"), ConsentTerms(granted: ["a"], denied: ["b"]), origin: "command")
        ledger.close()
        let shell = try Database(folder.ledger, makes: false)
        try shell.run(sql)
        shell.close()
        let fault = fault { () throws(StorageFault) in _ = try LedgerTests.ledger(folder) }
        #expect(fault?.kind == .damaged && fault?.description.contains("put back a copy") == true)
    }

    @Test("a file is refused if a key of the same name or subject.key has changed")
    func otherKeys() throws {
        let folder = Folder()
        try ledger(folder).close()
        let changed = LedgerKeys(current: LedgerKeys.Key("first", Array("another key altogether".utf8)))
        let key = fault { () throws(StorageFault) in _ = try ledger(folder, keys: changed) }
        #expect(
            key
                == StorageFault(
                    .foreign,
                    "\(folder.ledger): was written under another key 'first'; give a new key a new name, and keep the old one as previous"))
        var other = options()
        other.short = { _ in ShortHash(high: 1, low: 2) }
        let asked = other
        let short = fault { () throws(StorageFault) in _ = try LedgerFile(folder.ledger, options: asked) }
        #expect(short?.kind == .foreign && short?.description.contains("was written under another subject.key") == true)
    }

    @Test("an id moves to the current key at its next write, and is found under both keys until then")
    func rotation() throws {
        let folder = Folder()
        var ledger = try ledger(folder)
        for id in ["a", "b", "c"] { try ledger.set(LedgerID(id), marketing, origin: "command") }
        ledger.close()
        ledger = try LedgerTests.ledger(folder, keys: LedgerKeys(current: second, previous: [first]))
        #expect(try ledger.get(LedgerID("a"))?.id.hmac == first.hmac([0x61]), "reading changes nothing")
        try ledger.withdraw(LedgerID("a"), origin: "command")
        try ledger.tie([LedgerID("b"), LedgerID("new")])
        #expect(try ledger.summary().keys == ["first": 1, "second": 3])
        let moved = try #require(try ledger.get(LedgerID("a")))
        #expect(moved.id == HashedID(hmac: second.hmac([0x61]), key: "second", short: short("a")) && moved.history.count == 2)
        #expect(try ledger.get(.hashed(moved.id))?.record?.terms == .withdrawn)
        ledger.close()
        // The previous key is gone, and the last id was not written again. It is still found by its short hash.
        ledger = try LedgerTests.ledger(folder, keys: LedgerKeys(current: second))
        #expect(try ledger.get(LedgerID("c"))?.effective == [marketing])
        try ledger.withdraw(LedgerID("c"), origin: "command")
        #expect(try ledger.summary().keys == ["second": 4])
    }

    @Test("a second id with the same short hash is refused")
    func twoIDs() throws {
        var same = options()
        same.short = { $0.first == 0 ? short($0) : ShortHash(high: 1, low: 2) }
        let folder = Folder()
        let ledger = try #require(try LedgerFile(folder.ledger, options: same))
        try ledger.set(LedgerID("one"), marketing, origin: "command")
        #expect(fault { () throws(StorageFault) in _ = try ledger.get(LedgerID("two")) }?.kind == .damaged)
    }

    @Test("a transaction is written completely or not at all, even if the body ignores a failure")
    func whole() throws {
        let folder = Folder()
        let ledger = try ledger(folder)
        let failed = fault { () throws(StorageFault) in
            try ledger.write { () throws(StorageFault) in
                try ledger.set(LedgerID("x"), marketing, origin: "never seen")
                _ = fault { () throws(StorageFault) in
                    try ledger.write { () throws(StorageFault) in throw StorageFault(.failed, "a fault") }
                }
            }
        }
        #expect(failed == StorageFault(.failed, "a fault"))
        #expect(try ledger.get(LedgerID("x")) == nil)
        try ledger.set(LedgerID("x"), marketing, origin: "never seen")
        #expect(try ledger.get(LedgerID("x"))?.record?.origin == "never seen")
    }

    @Test("a person can read the file with the view `consent`")
    func view() throws {
        let folder = Folder()
        let ledger = try ledger(folder)
        try ledger.set(LedgerID("x"), marketing, origin: "source web")
        try ledger.withdraw(LedgerID("y"), origin: "command")
        let shell = try Database(folder.ledger, makes: false)
        let rows = try shell.statement("SELECT level, granted, decided, origin FROM consent ORDER BY 1")
        #expect(try rows.step() && rows.text(0) == "marketing" && rows.text(1) == "[\"ads\",\"measure\"]")
        #expect(rows.text(2) == "1970-01-01 00:16:40" && rows.text(3) == "source web")
        #expect(try rows.step() && rows.text(0) == "withdrawn")
    }
}
