import Admission
import Editing
import Events
import Plans
import TestSupport
import Testing

@testable import Judging
@testable import Models

private func fixture(providers: Int = 1, _ routes: RoutePlan...) -> JudgeFixture {
    var whole = plan(providers: providers)
    whole.routes = routes
    whole.messageID.add = true
    return JudgeFixture(whole)
}

private func ids(_ fixture: JudgeFixture, _ provider: Int = 0) -> [String] {
    zip(fixture.lines(provider), fixture.parcels[provider].entries).map { line, entry in
        String(decoding: Array(line.utf8)[Int(entry.messageIDOffset)...].prefix(Int(entry.messageIDCount)), as: UTF8.self)
    }
}

@Suite("Message ids")
struct MessageIDTests {
    @Test(
        "an event without an id gets one behind its last member",
        arguments: [
            (#"{"a":1.0}"#, #"{"a":1.0,"messageId":"*"}"#), (#"{}"#, #"{"messageId":"*"}"#), (#"{ }"#, #"{ "messageId":"*"}"#),
            (#"{"a":{} }"#, #"{"a":{} ,"messageId":"*"}"#), (#"{"messageId":null,"a":1}"#, #"{"messageId":"*","a":1}"#),
            (#"{"a":1, "messageId" : "" }"#, #"{"a":1, "messageId" : "*" }"#),
            (
                #"{"messageId":"","b":"\#(String(repeating: "x", count: 200))"}"#,
                #"{"messageId":"*","b":"\#(String(repeating: "x", count: 200))"}"#
            ),
        ])
    func adds(came: String, left: String) throws {
        let fixture = fixture(route())
        fixture.take(came)
        let id = ids(fixture)[0]
        #expect(fixture.lines() == [left.replacing("*", with: id)])
        let digits = Array(id.utf8)
        #expect(digits.count == 36)
        #expect(digits[14] == UInt8(ascii: "4"), "a UUID of version 4")
        #expect([8, 13, 18, 23].allSatisfy { digits[$0] == UInt8(ascii: "-") })
    }

    @Test("the id of an event stays, even if it is not a string", arguments: [#""a""#, "7", "true", "[]", #""\u0041""#])
    func keeps(id: String) {
        let fixture = fixture(route())
        let line = #"{"messageId":\#(id),"b":1}"#
        fixture.take(line)
        #expect(fixture.lines() == [line])
    }

    @Test("every copy of an event gets the same id, and every event a different one")
    func same() {
        let fixture = fixture(
            providers: 2, route { $0.providers = [0, 1] },
            route {
                $0.providers = [1]
                $0.transforms = [DropStep([Path(keys: ["a"])])]
            })
        fixture.take(#"{"a":1}"#)
        fixture.take(#"{"a":2}"#)
        let first = ids(fixture, 0)
        let second = ids(fixture, 1)
        #expect(second == [first[0], first[0], first[1], first[1]])
        #expect(first[0] != first[1])
        #expect(fixture.lines(1)[1] == #"{"messageId":"\#(first[0])"}"#)
    }

    @Test("a route whose transforms name the id adds none")
    func left() {
        let fixture = fixture(route { $0.transforms = [DropStep([Path(keys: ["messageId"])])] })
        fixture.take(#"{"a":1}"#)
        #expect(fixture.lines() == [#"{"a":1}"#])
    }

    @Test("no id is added unless the plan says so or a provider can use it")
    func byDefault() {
        var without = plan(route())
        #expect(!without.addsMessageIDs)
        without.providers[0].deduplicates = true
        #expect(without.addsMessageIDs)
        without.messageID.add = false
        #expect(!without.addsMessageIDs)
    }
}

@Suite("Ids that were seen")
struct SeenIDsTests {
    private func seen(_ most: Int, seconds: Int = 1_000_000) -> SeenIDs {
        var plan = MessageIDPlan.Deduplication()
        plan.most = most
        plan.window = .seconds(seconds)
        return SeenIDs(plan, key: Array(0..<16))
    }

    private func note(_ seen: SeenIDs, _ id: String, at time: Int64) -> SeenIDs.Sighting? {
        var bytes = Array(id.utf8)
        return bytes.withUnsafeMutableBufferPointer { seen.note(ByteRun(base: Bytes($0.baseAddress!), count: $0.count), at: time) }
    }

    @Test("an id is remembered for the window, and no longer")
    func time() {
        let seen = seen(10, seconds: 2)
        #expect(note(seen, "a", at: 0) != nil)
        #expect(note(seen, "a", at: 1_999_999_999) == nil)
        #expect(note(seen, "a", at: 2_000_000_000) != nil)
        #expect(note(seen, "a", at: 0) == nil, "a clock that goes back forgets nothing")
    }

    @Test("an id from an earlier run counts as seen")
    func recall() throws {
        let first = seen(10)
        let sighting = try #require(note(first, "a", at: 5))
        let second = seen(10)
        second.recall([sighting])
        #expect(note(second, "a", at: 6) == nil)
        #expect(note(second, "b", at: 6) != nil)
    }

    @Test("the ids agree with a slow model, whatever comes and goes", arguments: [1, 2, 7, 64, 500])
    func model(most: Int) {
        var chance = SystemLikeChance(state: UInt64(most))
        let seen = seen(most, seconds: 300)
        var model: [(id: Int?, time: Int64, sighting: SeenIDs.Sighting)] = []
        for step in 0..<rounds(20_000) {
            let time = Int64(step) * 1_000_000_000
            let id = Int(chance.next() % UInt64(most * 3))
            model.removeAll { time - $0.time >= 300_000_000_000 }
            let isNew = !model.contains { $0.id == id }
            let sighting = note(seen, "\(id)", at: time)
            #expect((sighting != nil) == isNew)
            if let sighting {
                if model.count == most { model.removeFirst() }
                model.append((id, time, sighting))
            }
            // An id counts as never seen if its event goes back to the sender, but its place stays taken.
            if chance.next() % 5 == 0, !model.isEmpty {
                let index = Int(chance.next() % UInt64(model.count))
                if model[index].id != nil { seen.forget([model[index].sighting]) }
                model[index].id = nil
            }
        }
    }
}

private struct SystemLikeChance {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
