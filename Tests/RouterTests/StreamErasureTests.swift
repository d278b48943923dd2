import ConsentGate
import Ledger
import Platform
import Testing
import Workers

@testable import Statements

private let erases = #"{"withdrawn":true,"erase":true}"#

@Suite("An event that asks for an erasure")
struct StreamErasureTests {
    @Test("withdraws everything, with a receipt, and asks for all of its ids", arguments: [erases, #"{"erase":true}"#])
    func asks(consent: String) throws {
        let fixture = try StreamFixture()
        fixture.take(#"{"type":"consent","userId":"u","anonymousId":"a","consent":\#(consent)}"#)
        #expect(try fixture.ledger.terms("u") == .withdrawn && fixture.ledger.terms("a") == .withdrawn)
        let asked = fixture.erasing.withLock { $0.asked }
        #expect(asked == [AskedErasure(ids: ["u", "a"], receipts: [1, 2], outOfReach: [], origin: "source in")])
        #expect(fixture.destroyed.withLock { $0 } == [1, 2])
    }

    @Test("names the tied ids that it does not carry, by their hashes, as out of reach")
    func ties() throws {
        let fixture = try StreamFixture()
        fixture.take(#"{"type":"alias","previousId":"a","userId":"u"}"#, says("u", erases))
        let asked = fixture.erasing.withLock { $0.asked }
        #expect(asked.count == 1 && asked[0].ids == ["u"] && asked[0].outOfReach.count == 1)
        #expect(asked[0].outOfReach[0].hasPrefix("ids:") && asked[0].outOfReach[0].utf8.count == 68)
    }

    @Test("from a source that may not write withdraws as far as it may, is counted as forbidden, and asks nobody")
    func forbidden() throws {
        let fixture = try StreamFixture(streamPlan(writes: false))
        try fixture.ledger.set("u", ConsentTerms(level: "standard"))
        let box = fixture.block(says("u", erases))
        fixture.turn(box)
        #expect(try fixture.ledger.terms("u") == .withdrawn)
        #expect(box.heard.forbidden == 1 && box.heard.taken == 0 && fixture.erasing.withLock { $0.asked }.isEmpty)
        #expect(fixture.said.withLock { $0 }.count == 1)
    }

    @Test("is not acknowledged if the jobs cannot be stored, and its withdrawal holds")
    func fault() throws {
        let fixture = try StreamFixture()
        fixture.erasing.withLock { $0.fault = StorageFault(.full, "the disk is full") }
        let box = fixture.block(says("u", erases))
        fixture.turn(box)
        #expect(try !box.isWritten && fixture.ledger.terms("u") == .withdrawn)
        #expect(fixture.said.withLock { $0 }.contains { $0.contains("cannot be stored: the disk is full") && !$0.contains("\"u\"") })
    }

    @Test("asks for nothing unless erase is true; a withdrawal counts whatever stands beside it")
    func unclear() throws {
        let fixture = try StreamFixture()
        fixture.take(says("u", #"{"withdrawn":true,"erase":"yes"}"#), says("v", #"{"withdrawn":true,"erase":false}"#))
        #expect(try fixture.ledger.terms("u") == .withdrawn && fixture.ledger.terms("v") == .withdrawn)
        fixture.take(says("w", #"{"erase":false}"#), says("w", #"{"erase":1}"#))
        #expect(try fixture.ledger.terms("w") == nil && fixture.erasing.withLock { $0.asked }.isEmpty)
    }
}
