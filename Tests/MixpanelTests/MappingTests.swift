import Testing
import VendorSupport

@testable import Mixpanel

private let id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
private let time = "2026-11-21T05:49:23.123Z"
/// What every event begins with, after its name.
private let head = #""properties":{"time":1795240163123,"#
private let tail = #""$insert_id":"\#(id)""#

/// Returns an event with an id and a time.
private func event(_ members: String) -> String { #"{\#(members),"messageId":"\#(id)","timestamp":"\#(time)"}"# }

private func map(_ events: [String], _ settings: String = "") throws -> Mapped {
    try Mapped(Mixpanel.self, "{\"token\":\"t0k3n\"\(settings.isEmpty ? "" : ",")\(settings)}", events)
}

/// Returns the bodies by endpoint (0 events, 1 people, 2 groups) without their brackets, or the reason of a refusal.
private func wire(_ event: String, _ settings: String = "") throws -> [Int: String] {
    let mapped = try map([event], settings)
    if let reason = mapped.refused[0] { return [-1: reason] }
    return Dictionary(mapped.bodies.map { ($0.endpoint, String($0.text.dropFirst().dropLast())) }) { first, _ in first }
}

@Suite("mixpanel: mapping")
struct MappingTests {
    @Test("a track event keeps its properties byte for byte, and gets the names that Mixpanel has for members of the context")
    func track() throws {
        let track = event(
            #""type":"track","event":"Signed Up","userId":"u1","anonymousId":"a1","properties":{"plan":"pro","price":1.50e1,"n":null},"#
                + #""context":{"ip":"8.8.8.8","os":{"name":"iOS","version":"17","a.b":{"c":1}},"campaign":{"name":"c","id":1},"tags":[{}]}"#
        )
        #expect(
            try wire(track) == [
                0: #"{"event":"Signed Up",\#(head)"distinct_id":"u1",\#(tail),"$user_id":"u1","$device_id":"a1","ip":"8.8.8.8","#
                    + #""plan":"pro","price":1.50e1,"n":null,"$os":"iOS","$os_version":"17","utm_campaign":"c","#
                    + #""switchyard_unmapped":{"context.os.[a.b].c":1,"context.campaign.id":1,"context.tags":[{}]}}}"#
            ])
    }

    @Test("an event of a device has the id of the device, and an event of nobody has the empty one")
    func devices() throws {
        #expect(
            try wire(event(#""type":"track","event":"A","anonymousId":7"#))
                == [0: #"{"event":"A",\#(head)"distinct_id":"$device:7",\#(tail),"$device_id":"7","ip":0}}"#])
        #expect(
            try wire(event(#""type":"track","event":"A","anonymousId":"a1""#), #""identity":"original""#)
                == [0: #"{"event":"A",\#(head)"distinct_id":"a1",\#(tail),"$device_id":"a1","ip":0}}"#])
        #expect(
            try wire(event(#""type":"track","event":"A""#)) == [0: #"{"event":"A",\#(head)"distinct_id":"",\#(tail),"ip":0}}"#])
        // An anonymousId that is none is no device.
        #expect(
            try wire(event(#""type":"track","event":"A","userId":"u","anonymousId":"null""#))[0]?
                .contains(#""$user_id":"u","ip":0,"switchyard_unmapped":{"anonymousId":"null"}"#) == true)
    }

    @Test("identify joins the ids, and its traits become the profile")
    func identify() throws {
        let identify = event(
            #""type":"identify","userId":"u1","anonymousId":"a1","traits":{"email":"e","plan":"pro"},"context":{"ip":"1.1.1.1"}"#)
        let profile = #"{"$token":"t0k3n","$distinct_id":"u1","$ip":"1.1.1.1","$set":{"$email":"e","plan":"pro"}}"#
        #expect(
            try wire(identify) == [
                0: #"{"event":"$identify",\#(head)"distinct_id":"u1",\#(tail),"$user_id":"u1","$device_id":"a1","ip":"1.1.1.1"}}"#,
                1: profile,
            ])
        #expect(
            try wire(identify, #""identity":"original""#) == [
                0: #"{"event":"$merge",\#(head)"distinct_id":"u1",\#(tail),"$user_id":"u1","$device_id":"a1","#
                    + #""$distinct_ids":["a1","u1"],"ip":"1.1.1.1"}}"#,
                1: profile,
            ])
        // Traits of the context are the next best, and what is left of either goes with the event.
        let both = event(
            #""type":"identify","userId":"u1","traits":{"$email":"own","email":"e"},"context":{"traits":{"phone":"p"}}"#)
        #expect(try wire(both)[1] == #"{"$token":"t0k3n","$distinct_id":"u1","$set":{"$email":"own","email":"e"}}"#)
        #expect(try wire(both)[0]?.contains(#""switchyard_unmapped":{"context.traits.phone":"p"}"#) == true)
        #expect(
            try wire(event(#""type":"identify","anonymousId":"a","context":{"traits":{"phone":"p","x":{}}}"#))[1]
                == #"{"$token":"t0k3n","$distinct_id":"$device:a","$set":{"$phone":"p","x":{}}}"#)
        let single = try wire(event(#""type":"identify","userId":"u1""#), #""identity":"original""#)
        #expect(single[0]?.hasPrefix(#"{"event":"Identify""#) == true)
    }

    @Test("operations on profiles that may come twice are carried out, and others stay properties")
    func operations() throws {
        let track = event(
            #""type":"track","event":"A","userId":"u","properties":{"$set":{"a":1},"$set_once":{"b":2},"$unset":["c"],"$add":{"d":1}}"#)
        let mapped = try map([track])
        let begin = #"{"$token":"t0k3n","$distinct_id":"u","#
        #expect(
            mapped.bodies.first { $0.endpoint == 1 }?.text
                == #"[\#(begin)"$set":{"a":1}},\#(begin)"$set_once":{"b":2}},\#(begin)"$unset":["c"]}]"#)
        #expect(mapped.bodies.first { $0.endpoint == 0 }?.text.contains(#""ip":0,"$add":{"d":1}}}"#) == true)
        // A value of another type, and an event of nobody.
        #expect(try wire(event(#""type":"track","event":"A","userId":"u","properties":{"$set":1,"$unset":{}}"#)).keys.sorted() == [0])
        #expect(try wire(event(#""type":"track","event":"A","properties":{"$set":{"a":1}}"#))[0]?.contains(#""$set":{"a":1}"#) == true)
    }

    @Test("group, alias, page and screen")
    func kinds() throws {
        #expect(
            try wire(event(#""type":"group","userId":"u","groupId":7,"traits":{"name":"Acme"}"#), #""group_key":"org""#) == [
                0: #"{"event":"Group",\#(head)"distinct_id":"u",\#(tail),"$user_id":"u","ip":0,"org":"7"}}"#,
                2: #"{"$token":"t0k3n","$group_key":"org","$group_id":"7","$set":{"name":"Acme"}}"#,
            ])
        let alias = event(#""type":"alias","userId":"u","previousId":7"#)
        #expect(try wire(alias)[-1]?.hasPrefix("Simplified ID Merge has no aliases") == true)
        #expect(
            try wire(alias, #""identity":"original""#)
                == [0: #"{"event":"$merge",\#(head)"distinct_id":"u",\#(tail),"$user_id":"u","$distinct_ids":["7","u"],"ip":0}}"#])
        #expect(
            try wire(event(#""type":"page","userId":"u","name":"Home","properties":{"url":"x"}"#))
                == [0: #"{"event":"Loaded a Page",\#(head)"distinct_id":"u",\#(tail),"$user_id":"u","ip":0,"url":"x","name":"Home"}}"#])
        #expect(try wire(event(#""type":"screen","userId":"u""#))[0]?.hasPrefix(#"{"event":"Loaded a Screen""#) == true)
        #expect(try wire(event(#""type":"log","userId":"u""#))[0]?.hasPrefix(#"{"event":"log""#) == true)
        #expect(try wire(event(#""type":"track","event":"A","context":{"groupId":"g"}"#))[0]?.contains(#""ip":0,"company":"g"}}"#) == true)
    }

    @Test("names that Mixpanel reads in properties are the provider's, and an event's own go under another name")
    func reserved() throws {
        #expect(
            try wire(
                event(#""type":"track","event":"A","userId":"u","properties":{"time":"noon","token":"x","distinct_id":1,"ip":"9.9.9.9"}"#))
                == [
                    0: #"{"event":"A",\#(head)"distinct_id":"u",\#(tail),"$user_id":"u","properties.time":"noon","#
                        + #""properties.distinct_id":1,"properties.token":"x","ip":"9.9.9.9"}}"#
                ])
        #expect(
            try wire(event(#""type":"track","event":"A","properties":{"ip":null}"#))[0]?.hasSuffix(#""properties.ip":null,"ip":0}}"#)
                == true)
    }

    @Test("a message id that is no UUID becomes one, the same each time")
    func insertID() throws {
        let body = try wire(#"{"type":"track","event":"A","messageId":"order/1"}"#)[0]
        #expect(body == (try wire(#"{"type":"track","event":"A","messageId":"order\u002f1"}"#)[0])?.replacing(#"\u002f"#, with: "/"))
        #expect(body?.contains(#""message_id":"order/1""#) == true)
    }

    @Test(
        "what Mixpanel would not take, or would cut, is refused with the reason",
        arguments: [
            (#"{"type":"track","event":"A","userId":"u"}"#, "the event has no messageId"),
            (#"{"type":"track","event":"A","messageId":"00000000-0000-0000-0000-000000000000"}"#, "the event has no messageId"),
            (event(#""type":"track","userId":"u""#), "the event has no name"),
            (event(#""type":"track","event":"A","userId":"Null""#), "an id is one"),
            (event(#""type":"track","event":"A","anonymousId":"anon""#), "an id is one"),
            (event(#""type":"track","event":"A","userId":0"#), "an id is one"),
            (event(#""type":"identify""#), "the identify has neither"),
            (event(#""type":"group","groupId":{}"#), "the group has no groupId"),
            (event(#""type":"track","event":"A","properties":{"a":{"b":{"c":{"d":{}}}}}"#), "properties have more than three"),
            (event(#""type":"track","event":"A","properties":{"switchyard_unmapped":1}"#), "properties has the member"),
            (
                event(
                    #""type":"identify","userId":"u","traits":{"a":"# + String(repeating: "[", count: 70)
                        + String(repeating: "]", count: 70) + "}"),
                "the event has more than 64"
            ),
        ])
    func refused(event: String, words: String) throws { #expect(try wire(event)[-1]?.hasPrefix(words) == true) }

    @Test("events have at most 254 properties, ids 247 characters, and texts are cut or refused")
    func limits() throws {
        func properties(_ count: Int) -> String {
            event(#""type":"track","event":"A","properties":{\#((0..<count).map { "\"p\($0)\":1" }.joined(separator: ","))}"#)
        }
        #expect(
            try wire(properties(254))[-1] == nil && wire(properties(255))[-1]?.hasPrefix("an object or a list has more than 254") == true)
        func user(_ count: Int) -> String { event(#""type":"track","event":"A","userId":"\#(String(repeating: "é", count: count))""#) }
        #expect(try wire(user(247))[-1] == nil && wire(user(248))[-1]?.hasPrefix("an id has more than 247") == true)
        let long = event(#""type":"track","event":"A","properties":{"a":[{"b":"\#(String(repeating: "x", count: 256))"}]}"#)
        #expect(try wire(long)[-1] == nil)
        #expect(try wire(long, #""long_texts":"refuse""#)[-1] == "a text has more than 255 characters, and Mixpanel would cut it")
        let name = event(#""type":"track","event":"\#(String(repeating: "x", count: 256))""#)
        #expect(try wire(name)[-1]?.hasPrefix("the name of the event has more than 255") == true)
        // A profile that is too large takes the whole event with it.
        let large = event(#""type":"identify","userId":"u","traits":{"a":"\#(String(repeating: "x", count: 1_000_000))"}"#)
        #expect(try wire(large).keys.sorted() == [-1])
    }

    @Test("an event that is an abyss of objects is carried or refused")
    func abyss() throws {
        let deep = String(repeating: #"{"a":"#, count: 5000) + "1" + String(repeating: "}", count: 5000)
        #expect(try wire(event(#""type":"track","event":"A","other":\#(deep)"#))[0] != nil)
        #expect(try wire(event(#""type":"track","event":"A","properties":\#(deep)"#))[-1] != nil)
    }

    @Test("random events give events that Mixpanel takes, or a reason")
    func random() throws {
        var random = RandomEvents(seed: 4)
        for _ in 0..<200 {
            let events = (0..<5).map { _ in random.event() }
            let mapped = try map(events, #""identity":"original""#)
            for (body, json) in zip(mapped.bodies, try mapped.json) {
                let list = try #require(json as? [[String: Any]])
                let mark = body.endpoint == 0 ? "properties" : "$token"
                #expect(list.allSatisfy { $0[mark] != nil })
                if body.endpoint == 0 { #expect(list.count + mapped.refused.count == events.count) }
            }
        }
    }
}
