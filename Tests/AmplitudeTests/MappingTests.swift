import Testing
import VendorSupport

@testable import Amplitude

private let time = "2026-11-21T05:49:23.123Z"
private let at = #""time":1795240163123,"insert_id":"m1""#

/// Returns an event with an id and a time.
private func event(_ members: String) -> String { #"{\#(members),"messageId":"m1","timestamp":"\#(time)"}"# }

private func map(_ events: [String], _ settings: String = "") throws -> Mapped {
    try Mapped(Amplitude.self, "{\"key\":\"am-test\"\(settings.isEmpty ? "" : ",")\(settings)}", events)
}

/// Returns what the event becomes in the body of the only request, without what stands around it.
private func wire(_ event: String, _ settings: String = "") throws -> String {
    let mapped = try map([event], settings)
    if let reason = mapped.refused[0] { return reason }
    let before = #"{"api_key":"am-test","events":["#
    let text = mapped.bodies[0].text
    return text.hasPrefix(before) ? String(text.dropFirst(before.utf8.count).dropLast(2)) : text
}

@Suite("amplitude: mapping")
struct MappingTests {
    @Test("a track event keeps its properties byte for byte, and gets the names that Amplitude has for members of the context")
    func track() throws {
        let track = event(
            #""type":"track","event":"Signed Up","userId":"user-1","anonymousId":"device-1","properties":{"plan":"pro","revenue":1.50e1},"#
                + #""context":{"ip":"8.8.8.8","os":{"name":"iOS","version":17},"location":{"latitude":1.5,"longitude":"x"},"#
                + #""traits":{"a":1},"groupId":"g1","sessionId":1795240000000}"#)
        #expect(
            try wire(track)
                == #"{"user_id":"user-1","device_id":"device-1",\#(at),"event_type":"Signed Up","ip":"8.8.8.8","os_name":"iOS","#
                + #""location_lat":1.5,"session_id":1795240000000,"revenue":1.50e1,"groups":{"company":"g1"},"user_properties":{"a":1},"#
                + #""event_properties":{"plan":"pro","revenue":1.50e1,"#
                + #""switchyard_unmapped":{"context":{"os":{"version":17},"location":{"longitude":"x"}}}}}"#)
    }

    @Test("identify sets the user's properties")
    func identify() throws {
        #expect(
            try wire(event(#""type":"identify","userId":"user-1","traits":{"plan":"pro"}"#))
                == #"{"event_type":"$identify","user_id":"user-1",\#(at),"user_properties":{"plan":"pro"},"event_properties":{}}"#)
        #expect(
            try wire(event(#""type":"identify","anonymousId":"device-1","context":{"traits":{"plan":"pro"},"sessionId":"x"}"#))
                == #"{"event_type":"$identify","device_id":"device-1",\#(at),"user_properties":{"plan":"pro"},"#
                + #""event_properties":{"switchyard_unmapped":{"context":{"sessionId":"x"}}}}"#)
    }

    @Test("group makes the user a member of it, and its traits become the group's, under an id of their own")
    func group() throws {
        #expect(
            try wire(event(#""type":"group","userId":"user-1","groupId":7,"traits":{"name":"Acme"}"#), #""group_type":"org""#)
                == #"{"event_type":"$groupidentify","user_id":"user-1","time":1795240163123,"insert_id":"m1-group","groups":{"org":"7"},"#
                + #""group_properties":{"name":"Acme"}},"#
                + #"{"event_type":"$identify","user_id":"user-1",\#(at),"groups":{"org":"7"},"user_properties":{"org":"7"},"#
                + #""event_properties":{}}"#)
        #expect(try map([event(#""type":"group","userId":"user-1","groupId":7"#)]).bodies[0].text.contains("$groupidentify") == false)
    }

    @Test("page and screen have their name in the name of the event")
    func views() throws {
        #expect(
            try wire(event(#""type":"page","userId":"user-1","name":"Ho\"me","properties":{"url":"x"}"#))
                == #"{"user_id":"user-1",\#(at),"event_type":"Viewed Ho\"me Page","event_properties":{"url":"x"}}"#)
        #expect(try wire(event(#""type":"screen","userId":"user-1""#)).contains(#""event_type":"Loaded a Screen""#))
        #expect(try wire(event(#""type":"log","userId":"user-1""#)).contains(#""event_type":"log""#))
    }

    @Test("ids have at least five characters, or as many as the setting says")
    func ids() throws {
        #expect(try wire(event(#""type":"track","event":"A","userId":1234"#)) == "an id has less than 5 characters (min_id_length)")
        #expect(try wire(event(#""type":"track","event":"A","userId":12345"#)).contains(#""user_id":"12345""#))
        #expect(
            try wire(event(#""type":"track","event":"A","userId":"é""#), #""min_id_length":1"#)
                .hasPrefix(#"{"api_key":"am-test","options":{"min_id_length":1},"events":[{"user_id":"é""#))
        // Beside a userId only the device is left to the rest.
        #expect(
            try wire(event(#""type":"track","event":"A","userId":"user-1","anonymousId":"a""#))
                .contains(#""event_properties":{"switchyard_unmapped":{"anonymousId":"a"}}"#))
    }

    @Test(
        "what Amplitude would not take, or would cut, is refused with the reason",
        arguments: [
            (event(#""type":"track","event":"A""#), "the event has neither userId nor anonymousId"),
            (#"{"type":"track","event":"A","userId":"user-1"}"#, "the event has no messageId"),
            (event(#""type":"track","userId":"user-1""#), "the event has no name"),
            (event(#""type":"track","event":"A","userId":"Undefined""#), "an id is one that Amplitude does not take"),
            (event(#""type":"track","event":"A","anonymousId":"00000000-0000-0000-0000-000000000000""#), "an id is one"),
            (event(#""type":"alias","userId":"user-1","previousId":"user-2""#), "Amplitude joins users by another API"),
            (event(#""type":"group","userId":"user-1""#), "the group has no groupId"),
            (event(#""type":"track","event":"A","userId":"user-1","properties":{"switchyard_unmapped":1}"#), "properties has the member"),
            (
                event(
                    #""type":"track","event":"A","userId":"user-1","x":"# + String(repeating: "[", count: 90_000)
                        + String(repeating: "]", count: 90_000)),
                "the event has more than 38"
            ),
        ])
    func refused(event: String, words: String) throws { #expect(try wire(event).hasPrefix(words)) }

    @Test("texts have 1024 characters, ids 128, and a body less than 1 MB, or 20 MB")
    func limits() throws {
        func track(_ count: Int, _ key: String = "properties") -> String {
            event(#""type":"track","event":"A","userId":"user-1","\#(key)":{"a":[{"b":"\#(String(repeating: "é", count: count))"}]}"#)
        }
        let refuse = #""long_texts":"refuse""#
        #expect(try wire(track(1025)).hasPrefix("{") && wire(track(1024), refuse).hasPrefix("{"))
        #expect(try wire(track(1025, "other"), refuse) == "a text has more than 1024 characters, and Amplitude would cut it")
        let id = String(repeating: "x", count: 129)
        let refused = try wire(event(#""type":"track","event":"A","userId":"\#(id)""#))
        #expect(refused == "an id has more than 128 characters, and Amplitude takes at most that many")
        let name = String(repeating: "x", count: 1025)
        #expect(try wire(event(#""type":"track","event":"\#(name)","userId":"user-1""#)).hasPrefix("the name of the event has more"))
        let large = Array(repeating: track(200_000), count: 3)
        #expect(try map(large).bodies.map { $0.text.utf8.count < 1_000_000 } == [true, true])
        #expect(try map(large, #""api":"batch""#).bodies.count == 1)
        #expect(try wire(track(500_000)).hasPrefix("the event needs a body of"))
    }

    @Test("random events give events that Amplitude takes, or a reason")
    func random() throws {
        var random = RandomEvents(seed: 6)
        for _ in 0..<200 {
            let events = (0..<5).map { _ in random.event() }
            let mapped = try map(events, #""min_id_length":1"#)
            let sent = try mapped.json.flatMap { ($0 as? [String: Any])?["events"] as? [[String: Any]] ?? [] }
            #expect(sent.filter { $0["event_type"] as? String != "$groupidentify" }.count + mapped.refused.count == events.count)
            #expect(sent.allSatisfy { $0["event_type"] is String && $0["insert_id"] is String })
            #expect(sent.allSatisfy { ($0["user_id"] ?? $0["device_id"]) is String })
        }
    }
}
