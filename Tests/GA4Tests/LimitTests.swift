import Foundation
import Testing
import VendorSupport

@testable import GA4

private func wire(_ event: String, _ more: String = "") throws -> String {
    let mapped = try map([event], more.isEmpty ? web : "\(web),\(more)")
    return mapped.refused[0] ?? mapped.bodies[0].text
}

private func named(_ name: String) -> String { #"{"type":"track","anonymousId":"1.2","event":"\#(name)"}"# }
private func with(_ properties: String) -> String {
    #"{"type":"track","anonymousId":"1.2","event":"A","properties":{\#(properties)}}"#
}
private func identify(_ traits: String) -> String { #"{"type":"identify","anonymousId":"1.2","traits":{\#(traits)}}"# }
private func text(_ count: Int, _ character: String = "x") -> String { String(repeating: character, count: count) }
private func numbered(_ count: Int) -> String { (0..<count).map { "\"p\($0)\":1" }.joined(separator: ",") }

@Suite("ga4: limits")
struct LimitTests {
    @Test(
        "what Google would drop, ignore or change is refused with the reason",
        arguments: [
            (named("session_start"), "the name of the event is one that Google reserves"),
            (named("session start"), "the name of the event is one that Google reserves"),
            (named("screen_view"), "the name of the event is one that Google reserves"),
            (named("s\\u0065ssion_start"), "the name of the event is one that Google reserves"),
            (named("GA_x"), "the name of the event is one that Google reserves"),
            (named("1st"), "the name of the event does not begin with a letter"),
            (named("_x"), "the name of the event does not begin with a letter"),
            (named("Größe"), "the name of the event has characters that are not ASCII"),
            (named("a\\ud83d"), "the name of the event has characters that are not ASCII"),
            (named(text(41)), "the name of the event has more than 40 characters"), (named(""), "the event has no name"),
            (#"{"anonymousId":"1.2"}"#, "the event has no name"), (#"{"type":"track","event":"A"}"#, "the event has no client_id"),
            (#"{"type":"track","event":"A","anonymousId":[]}"#, "the event has no client_id"),
            (#"{"type":"group","anonymousId":"1.2"}"#, "the group has no groupId"),
            (#"{"type":"track","event":"A","anonymousId":"1.2","properties":[1]}"#, "properties or traits are no object"),
            (#"{"type":"track","event":"A","anonymousId":"1.2","userId":"\#(text(257))"}"#, "userId has more than 256 characters"),
            (with(#""":1"#), "a parameter has a name that does not begin with a letter"),
            (with(#""ga_session_id":1"#), "a parameter has a name that Google reserves"),
            (with(#""Google_x":1"#), "a parameter has a name that Google reserves"),
            (with(#""ga":{"x":1}"#), "a parameter has a name that Google reserves"),
            (with(#""é":1"#), "a parameter has a name with characters that are not ASCII"),
            (with(#""a b":1,"a.b":2"#), "a parameter has the name of another one"),
            (with("\"\(text(41))\":1"), "a parameter has a name of more than 40 characters"),
            (with("\"a\":\"\(text(101, "é"))\""), "a parameter has a value of more than 100 characters"),
            (with("\"a\":\"\\ud83d\(text(100))\""), "a parameter has a value of more than 100 characters"),
            (with("\"a\":[\"\(text(50))\",\"\(text(50))\"]"), "a parameter has a value of more than 100 characters"),
            (with("\"page_location\":\"\(text(1001))\""), "a parameter has a value of more than 1000 characters"),
            (with("\"page_title\":\"\(text(301))\""), "a parameter has a value of more than 300 characters"),
            (with(#""a":[{"b":1},2]"#), "a parameter is a list that holds objects or lists"),
            (with(#""a":1e400"#), "a parameter has a number that is too long or too large"),
            (with(numbered(26)), "a parameter is one more than the 25 that Google takes"),
            (with(text(60, #""a":{"#) + text(60, "}")), "a parameter has a name of more than 40 characters"),
            (identify(#""user_id":1"#), "a user property has a name that Google reserves"),
            (identify(#""firebase_x":1"#), "a user property has a name that Google reserves"),
            (identify("\"\(text(25))\":1"), "a user property has a name of more than 24 characters"),
            (identify("\"a\":\"\(text(37))\""), "a user property has a value of more than 36 characters"),
            (identify(numbered(26)), "a user property is one more than the 25 that Google takes"),
            (
                #"{"type":"track","event":"A","anonymousId":"1.2","context":{"consent":{"google":{"ad_user_data":true}}}}"#,
                "a signal of context.consent.google is neither granted nor denied"
            ),
            (
                #"{"type":"track","event":"A","anonymousId":"1.2","context":{"consent":{"google":"denied"}}}"#,
                "context.consent.google is no object"
            ),
        ])
    func refused(event: String, reason: String) throws { #expect(try wire(event) == reason) }

    @Test("what is exactly at a limit is sent, and what the provider adds itself only if there is room")
    func atLimits() throws {
        #expect(try wire(named(text(40))).contains("\"name\":\"\(text(40))\""))
        #expect(try wire(with("\"a\":\"\(text(100, "é"))\"")).contains(text(100, "é")))
        #expect(try wire(with("\"a\":\"\(text(100, "\\ud83d\\ude00"))\"")).contains("\\ude00\""))
        #expect(try wire(with("\"a\":[\"\(text(50))\",\"\(text(49))\"]")).contains(text(50) + "," + text(49) + "\""))
        #expect(try wire(identify("\"\(text(24))\":\"\(text(36))\"")).contains(text(36)))
        #expect(try wire(with(numbered(25))).hasSuffix(#""p24":1}}]}"#))
        #expect(try wire(with(numbered(24))).hasSuffix(#""p23":1,"engagement_time_msec":1}}]}"#))
        #expect(try wire(with(#""engagement_time_msec":5"#)).hasSuffix(#"{"engagement_time_msec":5}}]}"#))
    }

    @Test("long values are cut if the settings say so, never inside an escape")
    func cut() throws {
        let cuts = #""long_values":"cut","engagement":false"#
        func cut(_ value: String) throws -> String {
            let text = try wire(with("\"a\":\(value)"), cuts)
            guard let start = text.range(of: #"{"a":"#) else { return text }
            return String(text[start.upperBound...].dropLast(4))
        }
        #expect(try cut("\"\(text(101))\"") == "\"\(text(100))\"")
        #expect(try cut("\"\(text(99))\\ud83d\\ude00x\"") == "\"\(text(99))\\ud83d\\ude00\"")
        #expect(try cut("\"\(text(99))\\n\\u00e9\"") == "\"\(text(99))\\n\"")
        #expect(try cut("\"\(text(99, "é"))😀é\"") == "\"\(text(99, "é"))😀\"")
        #expect(try cut("[\"\(text(99))\",1,2]") == "\"\(text(99)),\"")
        #expect(try cut("[\"\(text(60))\",\"\(text(60))\",1]") == "\"\(text(60)),\(text(39))\"")
        #expect(try wire(identify("\"a\":\"\(text(40))\""), cuts).contains("{\"a\":{\"value\":\"\(text(36))\"}}"))
    }

    @Test("a property of Analytics 360 takes more")
    func analytics360() throws {
        let more = #""analytics_360":true"#
        #expect(try wire(with(numbered(100)), more).hasSuffix(#""p99":1}}]}"#))
        #expect(try wire(with(numbered(101)), more) == "a parameter is one more than the 100 that Google takes")
        #expect(try wire(with("\"a\":\"\(text(500))\""), more).contains(text(500)))
        #expect(try wire(with("\"a\":\"\(text(501))\""), more) == "a parameter has a value of more than 500 characters")
    }

    @Test("random events give bodies of which Google drops nothing, or a reason", arguments: [false, true])
    func random(isApp: Bool) throws {
        let fake = FakeGA4(isApp: isApp)
        var random = RandomEvents(seed: 5)
        var refused = 0
        let now: Int64 = 1_795_312_800_000_000_000
        for round in 0..<400 {
            let cuts = round % 2 == 0 ? #","long_values":"cut""# : ""
            let settings = "\(isApp ? app : web),\"traits\":\"all\",\"derive_id\":true\(cuts)"
            let mapped = try map((0..<5).map { _ in random.event() }, settings, arrival: now, now: now)
            for body in mapped.bodies { fake.take(Array(body.text.utf8)) }
            refused += mapped.refused.count
        }
        #expect(fake.losses.isEmpty && fake.kept.count == 2000 - refused && fake.kept.count > 50)
    }
}
