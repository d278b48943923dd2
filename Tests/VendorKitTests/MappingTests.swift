import Seeded
import Testing
import VendorSupport

private func mapped(_ events: String..., limit: Int = 1000) throws -> Mapped {
    try Mapped(Sample.self, "{\"key\":\"k3y-of-test\",\"limit\":\(limit)}", events)
}

@Suite("VendorKit: mapping")
struct MappingTests {
    @Test("values are written byte for byte, and members that no place is given to are written as the rest")
    func rest() throws {
        let event = """
            {"type":"track","event":"A","userId":"u\\u0031","timestamp":"2026-11-21T05:49:23.123456Z","properties":{"n": 1.50e+3 ,"s":"\\/é"},\
            "context":{"ip":"1.2.3.4","os":{"name":"x"},"page":{}},"sentAt":"now"}
            """
        let body = """
            [{"at":1795240163123,"user":"u\\u0031","n": 1.50e+3 ,"s":"\\/é","ip":"1.2.3.4",\
            "rest":{"event":"A","context":{"os":{"name":"x"},"page":{}},"sentAt":"now"}}]
            """
        let mapped = try mapped(event)
        #expect(mapped.bodies.map(\.text) == [body])
        #expect(mapped.refused.isEmpty)
    }

    @Test("the rest can be one object with paths as names, so that it is not deep")
    func flatRest() throws {
        let event = """
            {"type":"screen","userId":"u","name":"n","a.b":{"c":{"d":1,"e":{}},"f.g":[{"h":{}}]},"context":{"os":{"name":"x"},"ip":"i"}}
            """
        let body = """
            [{"user":"u","rest":{"name":"n","[a.b].c.d":1,"[a.b].c.e":{},"[a.b].[f.g]":[{"h":{}}],"context.os.name":"x","context.ip":"i"}}]
            """
        #expect(try mapped(event).bodies.map(\.text) == [body])
        #expect(try mapped(#"{"type":"screen","userId":"u"}"#).bodies.map(\.text) == [#"[{"user":"u"}]"#])
        let deep = String(repeating: #"{"a":"#, count: 30) + "1" + String(repeating: "}", count: 30)
        let sixteen = String(repeating: #"{"a":"#, count: 15) + "1" + String(repeating: "}", count: 15)
        #expect(
            try mapped(#"{"type":"screen","b":\#(deep)}"#).bodies.map(\.text)
                == [#"[{"rest":{"b\#(String(repeating: ".a", count: 15))":\#(sixteen)}}]"#])
    }

    @Test("a member of the wrong type is absent for the vendor, and is not lost")
    func wrongTypes() throws {
        let mapped = try mapped(#"{"type":"track","userId":{"a":1},"timestamp":"soon","properties":[1],"messageId":null}"#)
        #expect(
            mapped.bodies.map(\.text)
                == [#"[{"at":0,"rest":{"userId":{"a":1},"timestamp":"soon","properties":[1],"messageId":null}}]"#])
    }

    @Test("without a timestamp the arrival is the time")
    func arrival() throws {
        let mapped = try Mapped(Sample.self, #"{"key":"k"}"#, [#"{"type":"track"}"#], arrivals: [1_500_000])
        #expect(mapped.first == #"[{"at":1}]"#)
    }

    @Test("an escape for half of a surrogate pair becomes U+FFFD, and all others stay")
    func surrogates() throws {
        let text = #"\\ud83d \ud83d\ude00 \ud83d\u0041 \ude00\ud83d \uD83D"#
        let repaired = #"\\ud83d \ud83d\ude00 \ufffd\u0041 \ufffd\ufffd \ufffd"#
        #expect(try mapped(#"{"type":"track","properties":{"a":"\#(text)"}}"#).first == #"[{"at":0,"a":"\#(repaired)"}]"#)
        #expect(try mapped(#"{"type":"track","userId":"\ud83d"}"#).first == #"[{"at":0,"rest":{"userId":"\ufffd"}}]"#)
    }

    @Test("a number can be an id, and is written as a text where one is needed")
    func numericID() throws {
        #expect(try mapped(#"{"type":"track","userId":42}"#).first == #"[{"at":0,"user":"42"}]"#)
    }

    @Test("a message id that is a UUID is written as it is, and any other gives the same UUID each time and stays")
    func uuids() throws {
        let id = "0190A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
        #expect(try mapped(#"{"type":"track","messageId":"\#(id)"}"#).first == #"[{"id":"\#(id)","at":0}]"#)
        let first = try mapped(#"{"type":"track","messageId":"m\u002d1"}"#).first
        #expect(first.hasSuffix(#","at":0,"rest":{"messageId":"m\u002d1"}}]"#))
        // The same text in another form.
        #expect(first.prefix(45) == (try mapped(#"{"type":"track","messageId":"m-1"}"#)).first.prefix(45))
        #expect(Array(first.utf8)[22] == UInt8(ascii: "5"), "it is a UUID of version 5: \(first)")
    }

    @Test("of two members with one name the first is written, and the vendor's own name in the event stays")
    func table() throws {
        #expect(
            try mapped(#"{"type":"track","properties":{"url":"a"},"context":{"page":{"url":"b"}}}"#).first
                == #"[{"at":0,"url":"a","where":"a","rest":{"context":{"page":{"url":"b"}}}}]"#)
        #expect(
            try mapped(#"{"type":"track","properties":{"where":"c"},"context":{"page":{"url":"b"},"ip":"i"}}"#).first
                == #"[{"at":0,"where":"c","ip":"i","rest":{"context":{"page":{"url":"b"}}}}]"#)
    }

    @Test("an event for which nothing is written, or that is refused, leaves nothing behind")
    func refusals() throws {
        let mapped = try mapped(#"{"type":"identify"}"#, #"{"type":"track"}"#, #"{"type":"alias"}"#)
        #expect(mapped.refused == [0: "the provider makes nothing of such an event", 2: "no aliases"])
        #expect(mapped.bodies.map(\.text) == [#"[{"at":0}]"#])
    }

    @Test("an event that the router accepts and the kit cannot read is refused")
    func unreadable() throws {
        let mapped = try mapped(#"{"type":"track","userId":"a","userId":"b"}"#)
        #expect(mapped.bodies.isEmpty && mapped.refused[0]?.hasPrefix("the event cannot be read: ") == true)
    }

    // MARK: - Limits

    @Test("a body ends before it has too many events or bytes")
    func bodies() throws {
        let event = #"{"type":"track","userId":"0123456789"}"#
        #expect(try mapped(event, event, event, event).bodies.map(\.text.utf8.count) == [3 * 28 + 4, 30])
        #expect(try mapped(event, event, event, limit: 59).bodies.map(\.text.utf8.count) == [59, 30])
        #expect(try mapped(event, event, event, limit: 58).bodies.count == 3)
        #expect(try mapped(event, limit: 29).refused == [0: "the event needs a body of 30 bytes, and the destination takes at most 29"])
    }

    @Test("an event that is too large is refused, with all of its parts")
    func large() throws {
        let text = String(repeating: "x", count: 200)
        let mapped = try mapped(#"{"type":"track","userId":"\#(text)"}"#, #"{"type":"track","properties":{"copies":2}}"#)
        #expect(mapped.refused == [0: "the event has 218 bytes as the destination gets it, which takes at most 200"])
        #expect(mapped.bodies.map(\.text) == [#"[{"at":0,"copies":2},{"at":0,"copies":2}]"#])
    }

    @Test("events share a body if they have the same group")
    func groups() throws {
        let events = ["a", "b", "a", "a", "b"].enumerated().map { #"{"type":"page","userId":"\#($1)","name":"\#($0)"}"# }
        let mapped = try Mapped(Sample.self, #"{"key":"k"}"#, events)
        #expect(
            mapped.bodies.map(\.text) == [
                #"{"kind":"page","user":"a","events":[{"name":"0"},{"name":"2"}]}"#,
                #"{"kind":"page","user":"b","events":[{"name":"1"},{"name":"4"}]}"#,
                #"{"kind":"page","user":"a","events":[{"name":"3"}]}"#,
            ])
        #expect(mapped.bodies.allSatisfy { $0.endpoint == 1 })
    }

    @Test("random events, at any place of a batch, give JSON within the limits, or a reason")
    func random() throws {
        var random = RandomEvents(seed: 1)
        for _ in 0..<300 {
            let events = (0..<7).map { _ in random.event() }
            let mapped = try Mapped(Sample.self, #"{"key":"k","limit":400}"#, events)
            _ = try mapped.json
            #expect(mapped.bodies.allSatisfy { $0.text.utf8.count <= 400 })
        }
    }
}
