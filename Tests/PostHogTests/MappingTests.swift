import Testing
import VendorSupport

@testable import PostHog

private let time = "2026-11-21T05:49:23.123Z"
/// 2026-11-21T05:49:24Z.
private let now: Int64 = 1_795_240_164_000_000_000

/// Returns what the events become in the body of the only request, without what stands around them.
private func wire(_ event: String, _ settings: String = "") throws -> String {
    let mapped = try map([event], settings)
    if let reason = mapped.refused[0] { return reason }
    let text = mapped.first
    let before = #"{"api_key":"phc_test","historical_migration":false,"batch":["#
    return text.hasPrefix(before) ? String(text.dropFirst(before.utf8.count).dropLast(2)) : text
}

private func map(_ events: [String], _ settings: String = "") throws -> Mapped {
    try Mapped(PostHog.self, "{\"key\":\"phc_test\"\(settings.isEmpty ? "" : ",")\(settings)}", events, now: now)
}

@Suite("posthog: mapping")
struct MappingTests {
    @Test("a track event keeps its properties byte for byte, and gets the names that PostHog has for members of the context")
    func track() throws {
        let event = """
            {"type":"track","event":"Signed Up","userId":"u1","anonymousId":"a1","messageId":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",\
            "timestamp":"2026-11-21T06:49:23.123+01:00","properties":{"plan":"pro","price":1.50e1,"$set_once":{"first":true}},\
            "context":{"ip":"8.8.8.8","os":{"name":"iOS","version":"17"},"library":{"name":"x"},"campaign":{"name":"c","other":1}}}
            """
        #expect(
            try wire(event) == """
                {"uuid":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b","event":"Signed Up","distinct_id":"u1","timestamp":"\(time)",\
                "properties":{"plan":"pro","price":1.50e1,"$set_once":{"first":true},"$ip":"8.8.8.8","$lib":"x","$os":"iOS",\
                "$os_version":"17","utm_campaign":"c",\
                "switchyard_unmapped":{"anonymousId":"a1","context":{"campaign":{"other":1}}}}}
                """)
    }

    @Test("a message id that is no UUID becomes one, and is a property of its own unless the event has one of that name")
    func messageID() throws {
        let derived = try wire(#"{"type":"track","event":"A","userId":"u","messageId":"m1","timestamp":"\#(time)"}"#)
        #expect(derived.contains(#""properties":{"message_id":"m1","$geoip_disable":true}}"#), "\(derived)")
        let own = try wire(#"{"type":"track","event":"A","userId":"u","messageId":"m1","properties":{"message_id":"x"}}"#)
        #expect(own.contains(#""message_id":"x","$geoip_disable":true,"switchyard_unmapped":{"messageId":"m1"}}"#), "\(own)")
    }

    @Test("identify sets the person's properties, and joins the anonymous id")
    func identify() throws {
        #expect(
            try wire(#"{"type":"identify","userId":"u1","anonymousId":"a1","traits":{"plan":"pro"},"timestamp":"\#(time)"}"#)
                == #"{"event":"$identify","distinct_id":"u1","timestamp":"\#(time)","properties":{"$anon_distinct_id":"a1","#
                + #""$set":{"plan":"pro"},"$geoip_disable":true}}"#)
        // Without a userId there is nothing to join, and an id that PostHog would not join stays apart.
        #expect(try wire(#"{"type":"identify","anonymousId":"a1"}"#).contains(#""distinct_id":"a1""#))
        #expect(
            try wire(#"{"type":"identify","userId":"u1","anonymousId":"null"}"#).contains(#""switchyard_unmapped":{"anonymousId":"null"}"#))
        // What the event says itself stays.
        #expect(
            try wire(#"{"type":"identify","userId":"u1","traits":{"a":1},"properties":{"$set":{"b":2}}}"#)
                .contains(#""properties":{"$set":{"b":2},"$geoip_disable":true,"switchyard_unmapped":{"traits":{"a":1}}}"#))
    }

    @Test("alias, group, page and screen are PostHog's events")
    func kinds() throws {
        #expect(
            try wire(#"{"type":"alias","userId":"u1","previousId":"a1","timestamp":"\#(time)"}"#)
                == #"{"event":"$create_alias","distinct_id":"u1","timestamp":"\#(time)","properties":{"alias":"a1","$geoip_disable":true}}"#
        )
        #expect(
            try wire(#"{"type":"group","userId":"u1","groupId":7,"traits":{"name":"Acme"},"timestamp":"\#(time)"}"#, #""group_type":"org""#)
                == #"{"event":"$groupidentify","distinct_id":"u1","timestamp":"\#(time)","properties":{"$group_type":"org","#
                + #""$group_key":"7","$group_set":{"name":"Acme"},"$groups":{"org":"7"},"$geoip_disable":true}}"#)
        #expect(
            try wire(#"{"type":"page","anonymousId":"a1","name":"Home","properties":{"url":"https://x/"},"timestamp":"\#(time)"}"#)
                == #"{"event":"$pageview","distinct_id":"a1","timestamp":"\#(time)","properties":{"url":"https://x/","name":"Home","#
                + #""$current_url":"https://x/","$geoip_disable":true}}"#)
        #expect(try wire(#"{"type":"screen","userId":"u1","name":"Start"}"#).contains(#""event":"$screen""#))
        #expect(try wire(#"{"type":"screen","userId":"u1","name":"Start"}"#).contains(#""$screen_name":"Start""#))
        #expect(try wire(#"{"type":"log","userId":"u1"}"#).contains(#""event":"log""#))
    }

    @Test("the groups of an event become $groups, unless it has them already")
    func groups() throws {
        let event = #"{"type":"track","event":"A","userId":"u1","context":{"groupId":"g1"}"#
        #expect(try wire(event + "}").contains(#""$groups":{"company":"g1"}"#))
        #expect(try wire(event + #","properties":{"$groups":{"x":"y"}}}"#).contains(#""switchyard_unmapped":{"context":{"groupId":"g1"}}"#))
    }

    @Test("geoip uses only the address in the event")
    func geoip() throws {
        let event = #"{"type":"track","event":"A","userId":"u1","context":{"ip":"8.8.8.8"}}"#
        #expect(try !wire(event).contains("$geoip_disable"))
        #expect(try wire(event, #""geoip":false"#).contains(#""$ip":"8.8.8.8","$geoip_disable":true"#))
        #expect(try wire(#"{"type":"track","event":"A","userId":"u1"}"#).contains(#""$geoip_disable":true"#))
        #expect(try !wire(#"{"type":"track","event":"A","userId":"u1","properties":{"$ip":"9.9.9.9"}}"#).contains("$geoip_disable"))
    }

    @Test("profiles are made for the events that the settings say")
    func profiles() throws {
        let flag = #""$process_person_profile":false"#
        func has(_ setting: String, _ id: String, _ type: String = "track") throws -> Bool {
            try wire(#"{"type":"\#(type)","event":"A","\#(id)":"u1"}"#, #""person_profiles":"\#(setting)""#).contains(flag)
        }
        #expect(try !has("all", "anonymousId") && !has("identified", "userId") && has("identified", "anonymousId") && has("none", "userId"))
        #expect(try !has("none", "userId", "identify"))
        #expect(
            try wire(
                #"{"type":"track","event":"A","userId":"u","properties":{"$process_person_profile":true}}"#, #""person_profiles":"none""#
            )
            .contains(#""properties":{"$process_person_profile":true,"$geoip_disable":true}"#))
    }

    @Test("old events go in requests of their own, as a historical migration")
    func historical() throws {
        func event(_ day: Int) -> String { #"{"type":"track","event":"E\#(day)","userId":"u","timestamp":"2026-11-\#(day)T00:00:00Z"}"# }
        let mapped = try map([event(21), event(18), event(20), event(10)])
        #expect(mapped.bodies.map(\.endpoint) == [0, 1])
        try #require(mapped.bodies.count == 2)
        #expect(mapped.bodies[1].text.hasPrefix(#"{"api_key":"phc_test","historical_migration":true,"batch":[{"event":"E18""#))
        #expect(try map([event(18)], #""historical":864000000"#).bodies.map(\.endpoint) == [0])
    }

    @Test(
        "what PostHog would drop or cut is refused with the reason",
        arguments: [
            (#"{"type":"track","event":"A"}"#, "the event has neither userId nor anonymousId"),
            (#"{"type":"track","event":"A","userId":"","anonymousId":[]}"#, "the event has neither userId nor anonymousId"),
            (#"{"type":"track","userId":"u"}"#, "the event has no name"), (#"{"userId":"u"}"#, "the event has no name"),
            (#"{"type":"track","event":7,"userId":"u"}"#, "the event has no name"),
            (#"{"type":"alias","userId":"u"}"#, "the alias has no previousId"),
            (#"{"type":"group","userId":"u","groupId":{}}"#, "the group has no groupId"),
            (#"{"type":"track","event":"A","userId":"Anonymous"}"#, "an id is one that PostHog does not take"),
            (#"{"type":"track","event":"A","userId":"nul\u006c"}"#, "an id is one that PostHog does not take"),
            (#"{"type":"track","event":"A","userId":0}"#, "an id is one that PostHog does not take"),
            (#"{"type":"alias","userId":"u","previousId":"undefined"}"#, "an id is one that PostHog does not take"),
            (#"{"type":"track","event":"A","userId":"u","properties":{"switchyard_unmapped":1}}"#, "properties has the member"),
        ])
    func refused(event: String, words: String) throws { #expect(try wire(event).hasPrefix(words)) }

    @Test("names and ids have at most 200 characters, and an event 900,000 bytes")
    func lengths() throws {
        func text(_ count: Int) -> String { String(repeating: "é", count: count) }
        #expect(try !wire(#"{"type":"track","event":"\#(text(200))","userId":"\#(text(200))"}"#).hasPrefix("the "))
        #expect(try wire(#"{"type":"track","event":"\#(text(201))","userId":"u"}"#).hasPrefix("the name of the event has more than 200"))
        #expect(try wire(#"{"type":"track","event":"A","userId":"\#(text(201))"}"#).hasPrefix("an id has more than 200"))
        func large(_ count: Int) throws -> String {
            try wire(
                #"{"type":"track","event":"A","userId":"u","timestamp":"\#(time)","properties":{"x":"\#(String(repeating: "x", count: count))"}}"#
            )
        }
        let around = try large(0).utf8.count
        #expect(try large(900_000 - around).utf8.count == 900_000)
        #expect(try large(900_001 - around).hasPrefix("the event has 900001 bytes"))
    }

    @Test("no body is larger than 20 MiB")
    func bodies() throws {
        let event = #"{"type":"track","event":"A","userId":"u","properties":{"x":"\#(String(repeating: "x", count: 800_000))"}}"#
        let mapped = try map(Array(repeating: event, count: 27))
        #expect(mapped.bodies.count == 2 && mapped.bodies.allSatisfy { $0.text.utf8.count <= 20 << 20 })
    }

    @Test("random events give events that PostHog takes, or a reason")
    func random() throws {
        var random = RandomEvents(seed: 2)
        for _ in 0..<300 {
            let events = (0..<5).map { _ in random.event() }
            let mapped = try map(events, #""person_profiles":"identified""#)
            let sent = try mapped.json.flatMap { ($0 as? [String: Any])?["batch"] as? [[String: Any]] ?? [] }
            #expect(sent.count + mapped.refused.count == events.count)
            #expect(sent.allSatisfy { $0["event"] is String && $0["distinct_id"] is String && $0["properties"] is [String: Any] })
        }
    }
}
