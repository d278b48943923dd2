import Foundation
import Testing
import VendorSupport

@testable import RudderStack
@testable import Segment

private let time = "2026-11-21T05:49:23.123Z"
/// 2026-11-21T05:49:24Z.
private let arrival: Int64 = 1_795_240_164_000_000_000

private func map(_ events: [String]) throws -> Mapped {
    try Mapped(Segment.self, #"{"write_key":"wk_test"}"#, events, arrivals: events.map { _ in arrival })
}

/// Returns what one event becomes, or why it is refused.
private func wire(_ event: String) throws -> String {
    let mapped = try map([event])
    return try mapped.refused[0] ?? batch(#require(mapped.bodies.first).text)
}

private func batch(_ body: String) -> String {
    body.hasPrefix(#"{"batch":["#) ? String(body.dropFirst(#"{"batch":["#.utf8.count).dropLast(2)) : body
}

@Suite("segment: mapping")
struct SegmentMappingTests {
    @Test(
        "an event that has Segment's shape passes byte for byte",
        arguments: [
            #"{"type":"track","event":"Signed \u0055p","userId":"u1","messageId":"m1","timestamp":"\#(time)","properties":{"a": 1.50e1}}"#,
            #"{ "type":"identify", "anonymousId":"a1","userId":null,"traits":{"email":"a@b.c"},"timestamp":"2026-11-21T06:49:23+01:00" }"#,
            #"{"type":"page","name":"Home","userId":"u","timestamp":"\#(time)","context":{"ip":"8.8.8.8","library":{"name":"x"}}}"#,
            #"{"type":"screen","userId":"u","anonymousId":"","timestamp":"\#(time)","integrations":{"All":false},"other":[1]}"#,
            #"{"type":"group","userId":"u","groupId":"g","timestamp":"\#(time)","traits":null}"#,
            #"{"type":"alias","userId":"u","previousId":"p","timestamp":"\#(time)"}"#,
            #"{"type":"tr\u0061ck","event":"A","userId":"u","timestamp":"\#(time)","context":{"switchyard_unmapped":{"a":1}}}"#,
        ])
    func whole(event: String) throws { #expect(try wire(event) == event) }

    @Test("the purposes of a consent reach RudderStack as they are")
    func consent() throws {
        let event = """
            {"type":"track","event":"A","userId":"u","timestamp":"\(time)","context":{"consentManagement":\
            {"allowedConsentIds":["a"],"deniedConsentIds":["b"],"provider":"custom","resolutionStrategy":"and"}}}
            """
        let mapped = try Mapped(RudderStack.self, #"{"url":"http://rudder.invalid","write_key":"wk_test"}"#, [event])
        #expect(mapped.bodies.map(\.text) == ["{\"batch\":[\(event)]}"])
    }

    @Test("an event of another type is a track, and its type stays")
    func types() throws {
        #expect(
            try wire(#"{"type":"log","userId":"u","timestamp":"\#(time)","properties":{"a":1}}"#)
                == #"{"type":"track","event":"log","userId":"u","timestamp":"\#(time)","context":{"switchyard_unmapped":{"type":"log"}},"#
                + #""properties":{"a":1}}"#)
        #expect(
            try wire(#"{"type":7,"event":"A","userId":"u","timestamp":"\#(time)","context":{"ip":"1.1.1.1"}}"#)
                == #"{"type":"track","event":"A","userId":"u","timestamp":"\#(time)","#
                + #""context":{"ip":"1.1.1.1","switchyard_unmapped":{"type":7}}}"#)
        #expect(
            try wire(#"{"type":"log","event":[1],"userId":"u","timestamp":"\#(time)","context":null}"#)
                == #"{"type":"track","event":"log","userId":"u","timestamp":"\#(time)","#
                + #""context":{"switchyard_unmapped":{"type":"log","event":[1]}}}"#)
        #expect(
            try wire(#"{"event":"A","userId":"u","timestamp":"\#(time)"}"#)
                == #"{"type":"track","userId":"u","timestamp":"\#(time)","event":"A"}"#)
    }

    @Test("ids that are numbers become texts")
    func ids() throws {
        #expect(
            try wire(#"{"type":"group","userId":7,"anonymousId":-1.5,"groupId":8,"messageId":9,"timestamp":"\#(time)","traits":{}}"#)
                == #"{"type":"group","messageId":"9","userId":"7","anonymousId":"-1.5","groupId":"8","timestamp":"\#(time)","traits":{}}"#)
    }

    @Test("without a time it is the arrival, and what is no time stays")
    func times() throws {
        #expect(
            try wire(#"{"type":"page","userId":"u","properties":{}}"#)
                == #"{"type":"page","userId":"u","timestamp":"2026-11-21T05:49:24.000Z","properties":{}}"#)
        #expect(
            try wire(#"{"type":"page","userId":"u","timestamp":1795240163123}"#)
                == #"{"type":"page","userId":"u","timestamp":"2026-11-21T05:49:24.000Z","#
                + #""context":{"switchyard_unmapped":{"timestamp":1795240163123}}}"#)
    }

    @Test("sentAt does not move the timestamp, and the key of another source is not passed on")
    func sent() throws {
        #expect(
            try wire(#"{"type":"page","userId":"u","timestamp":"\#(time)","sentAt":"\#(time)","writeKey":"other","x":{"writeKey":1}}"#)
                == #"{"type":"page","userId":"u","timestamp":"\#(time)","context":{"switchyard_unmapped":{"sentAt":"\#(time)"}},"#
                + #""x":{"writeKey":1}}"#)
    }

    @Test(
        "what Segment would answer 200 to and drop is refused with the reason",
        arguments: [
            (#"{"type":"track","event":"A"}"#, "the event has neither userId nor anonymousId"),
            (#"{"type":"track","event":"A","userId":"","anonymousId":null}"#, "the event has neither userId nor anonymousId"),
            (#"{"type":"track","userId":"u"}"#, "the event has no name"), (#"{"userId":"u"}"#, "the event has no name"),
            (#"{"type":"track","event":"","userId":"u"}"#, "the event has no name"),
            (#"{"type":"track","event":7,"userId":"u"}"#, "the event has no name"),
            (#"{"type":"alias","userId":"u"}"#, "the alias has no previousId"),
            (#"{"type":"alias","anonymousId":"a","previousId":"p"}"#, "the alias has no userId"),
            (#"{"type":"group","userId":"u"}"#, "the group has no groupId"),
            (#"{"type":"page","userId":{},"anonymousId":"a"}"#, "userId is neither a text nor a number"),
            (#"{"type":"page","userId":"u","anonymousId":true}"#, "anonymousId is neither a text nor a number"),
            (#"{"type":"page","userId":"\ud83d","anonymousId":"a"}"#, "userId is neither a text nor a number"),
            (#"{"type":"page","userId":"u","messageId":[]}"#, "messageId is neither a text nor a number"),
            (#"{"type":"page","userId":"u","properties":[]}"#, "properties is no object"),
            (#"{"type":"identify","userId":"u","traits":"x"}"#, "traits is no object"),
            (#"{"type":"page","userId":"u","context":1}"#, "context is no object"),
            (#"{"type":"page","userId":"u","integrations":true}"#, "integrations is no object"),
            (#"{"type":"page","userId":"u","sentAt":1,"context":{"switchyard_unmapped":1}}"#, "context has the member"),
        ])
    func refused(event: String, words: String) throws { #expect(try wire(event).hasPrefix(words)) }

    @Test("messageId has at most 100 characters, an event 32 KB, and for RudderStack 198 levels")
    func lengths() throws {
        func id(_ value: String) throws -> String {
            try wire(#"{"type":"page","userId":"u","timestamp":"\#(time)","messageId":\#(value)}"#)
        }
        #expect(try id("\"" + String(repeating: "é", count: 100) + "\"").hasPrefix("{"))
        #expect(try id("\"" + String(repeating: "é", count: 101) + "\"") == "messageId has more than 100 characters")
        #expect(try id(String(repeating: "1", count: 100)).hasPrefix("{"))
        #expect(try id(String(repeating: "1", count: 101)) == "messageId has more than 100 characters")
        func large(_ count: Int) throws -> String {
            try wire(#"{"type":"page","userId":"u","timestamp":"\#(time)","x":"\#(String(repeating: "x", count: count))"}"#)
        }
        let around = try large(0).utf8.count
        #expect(try large(32_768 - around).utf8.count == 32_768)
        #expect(try large(32_769 - around).hasPrefix("the event has 32769 bytes"))
        func deep(_ count: Int) throws -> String {
            let (open, close) = (String(repeating: "[", count: count), String(repeating: "]", count: count))
            let event = #"{"type":"page","userId":"u","timestamp":"\#(time)","x":\#(open)\#(close)}"#
            return try Mapped(RudderStack.self, #"{"url":"http://rudder.invalid","write_key":"wk_test"}"#, [event]).refused[0] ?? "sent"
        }
        #expect(try deep(197) == "sent")
        #expect(try deep(198) == "the event nests deeper than 198 levels")
    }

    @Test("no body has more than 500 KB or 2500 events")
    func bodies() throws {
        func event(_ count: Int) -> String {
            #"{"type":"page","userId":"u","timestamp":"\#(time)","x":"\#(String(repeating: "x", count: count))"}"#
        }
        let large = try map(Array(repeating: event(30_000), count: 40))
        #expect(large.bodies.count == 3 && large.bodies.allSatisfy { $0.text.utf8.count <= 500_000 })
        let many = try map(Array(repeating: event(0), count: 5001))
        let counts = try many.json.map { (($0 as? [String: Any])?["batch"] as? [Any])?.count ?? 0 }
        #expect(counts == [2500, 2500, 1])
    }

    @Test("random events are sent whole, or refused with a reason, and twice the same")
    func random() throws {
        var random = RandomEvents(seed: 5)
        for _ in 0..<300 {
            let events = (0..<5).map { _ in random.event() }
            let mapped = try map(events)
            let sent = try mapped.json.flatMap { ($0 as? [String: Any])?["batch"] as? [[String: Any]] ?? [] }
            let taken = events.indices.filter { mapped.refused[$0] == nil }
            #expect(sent.count == taken.count)
            for (index, sent) in zip(taken, sent) { lose(nothingOf: events[index], sent) }
            #expect(try map(events).bodies.map(\.text) == mapped.bodies.map(\.text))
        }
    }

    /// Every member of the event is in what is sent: where it was, or as an unmapped one.
    private func lose(nothingOf event: String, _ sent: [String: Any]) {
        // Foundation reads no single half of a surrogate pair. The kit's tests compare those.
        guard let tree = try? JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any] else { return }
        let unmapped = (sent["context"] as? [String: Any])?["switchyard_unmapped"] as? [String: Any] ?? [:]
        for (key, value) in tree where key != "context" {
            let candidates = [sent[key], unmapped[key]].compactMap { $0 }
            // A number is quoted in place of an id, and a time that is missing is the arrival.
            let isSame = candidates.contains { candidate in
                text(candidate) == text(value) || key == "timestamp" && value is NSNull
                    || (value as? NSNumber).map { Double(candidate as? String ?? "") == $0.doubleValue } ?? false
            }
            #expect(isSame, "\(key) of \(event.prefix(300))")
        }
        for (key, value) in tree["context"] as? [String: Any] ?? [:] {
            let isSame = (sent["context"] as? [String: Any])?[key].map { text($0) == text(value) } ?? false
            #expect(isSame, "context.\(key) of \(event.prefix(300))")
        }
    }

    private func text(_ value: Any) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
        return (try? JSONSerialization.data(withJSONObject: value, options: options)).map { String(decoding: $0, as: UTF8.self) } ?? "none"
    }
}
