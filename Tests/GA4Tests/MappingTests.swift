import Foundation
import Testing
import VendorSupport

@testable import GA4

private let time = "2026-11-21T05:49:23.123Z"
private let micros = 1_795_240_163_123_000
/// 2026-11-21T05:49:24Z, which is also the arrival of every event.
private let now: Int64 = 1_795_240_164_000_000_000
let web = #""measurement_id":"G-1","api_secret":"s3cret""#
let app = #""firebase_app_id":"1:2:ios:3","api_secret":"s3cret""#

func map(_ events: [String], _ settings: String = web, arrival: Int64 = now, now: Int64 = now) throws -> Mapped {
    try Mapped(GA4.self, "{\(settings)}", events, arrivals: events.map { _ in arrival }, now: now)
}

/// Returns the only body, or the reason for which the event is refused.
private func wire(_ event: String, _ settings: String = web, more: String = "") throws -> String {
    let mapped = try map([event], more.isEmpty ? settings : "\(settings),\(more)")
    return mapped.refused[0] ?? mapped.bodies[0].text
}

/// Returns the parameters of the only event of the body, without the last one, engagement_time_msec.
private func parameters(_ event: String, more: String = #""engagement":false"#) throws -> String {
    let text = try wire(event, more: more)
    guard let start = text.range(of: #""params":"#) else { return text }
    return String(text[start.upperBound...].dropLast(3))
}

private func tracked(_ properties: String) -> String {
    #"{"type":"track","event":"A","anonymousId":"12.34","timestamp":"\#(time)","properties":\#(properties)}"#
}

@Suite("ga4: mapping")
struct MappingTests {
    @Test("a track event has the id of the client, the user, the consent and flat parameters")
    func track() throws {
        let event = """
            {"type":"track","event":"Signed Up","userId":7,"anonymousId":"12.34","messageId":"m","timestamp":"2026-11-21T06:49:23.123+01:00",\
            "properties":{"plan":"pro","price":1.50e1,"ok":true,"none":null,"a":{"b c":{"d":"x"}},"tags":["a",1,null,true],\
            "at":"2026-11-21T05:49:23.9Z"},"context":{"ip":"8.8.8.8","userAgent":"UA","sessionId":99,"page":{"url":"https://x/"},\
            "consent":{"google":{"ad_user_data":"granted","ad_personalization":"denied","ad_storage":"granted"}}}}
            """
        #expect(
            try wire(event) == """
                {"client_id":"12.34","user_id":"7","consent":{"ad_user_data":"GRANTED","ad_personalization":"DENIED"},\
                "ip_override":"8.8.8.8","user_agent":"UA","events":[{"name":"Signed_Up","timestamp_micros":\(micros),"params":{\
                "plan":"pro","price":1.50e1,"ok":true,"a_b_c_d":"x","tags":"a,1,,true","at":1795240163,"session_id":99,\
                "page_location":"https://x/","engagement_time_msec":1}}]}
                """)
    }

    @Test("page, screen, group and identify are Google's events, and an alias is refused")
    func kinds() throws {
        let page =
            #"{"type":"page","name":"Home","anonymousId":"1.2","properties":{"url":"https://x/","title":"T","referrer":"R","path":"/"},"#
            + #""context":{"page":{"url":"https://other/","title":"O"}}}"#
        #expect(
            try parameters(page)
                == #"{"page_location":"https://x/","page_title":"T","page_referrer":"R","path":"/","page_name":"Home"}"#)
        #expect(try wire(page).contains(#""name":"page_view""#))
        let screen = #"{"type":"screen","name":"Start","anonymousId":"0123456789abcdef0123456789ABCDEF","timestamp":"\#(time)"}"#
        #expect(
            try wire(screen, app)
                == #"{"app_instance_id":"0123456789abcdef0123456789ABCDEF","events":[{"name":"screen_view","timestamp_micros":\#(micros),"#
                + #""params":{"screen_name":"Start","engagement_time_msec":1}}]}"#)
        #expect(try wire(screen) == "the event is a screen, and Google takes screens only in streams of apps")
        let group = #"{"type":"group","anonymousId":"1.2","groupId":"g","traits":{"size":3}}"#
        #expect(try wire(group).contains(#""name":"join_group""#))
        #expect(try parameters(group) == #"{"size":3,"group_id":"g"}"#)
        #expect(try !wire(group).contains("user_properties"))
        #expect(
            try wire(#"{"type":"identify","anonymousId":"1.2","userId":"u","traits":{"plan":"pro","n":1},"timestamp":"\#(time)"}"#)
                == #"{"client_id":"1.2","user_id":"u","user_properties":{"plan":{"value":"pro"},"n":{"value":1}},"events":["#
                + #"{"name":"identify","timestamp_micros":\#(micros),"params":{"engagement_time_msec":1}}]}"#)
        #expect(try wire(#"{"type":"alias","userId":"u","previousId":"1.2"}"#).hasPrefix("the event is an alias"))
    }

    @Test("a log keeps its own members, and has the name of its type if it has no other")
    func logs() throws {
        let log = #"{"type":"log","anonymousId":"1.2","level":"warn","name":"disk","messageId":"m","properties":{"free":3}}"#
        #expect(try wire(log).contains(#""name":"log""#))
        #expect(try parameters(log) == #"{"free":3,"level":"warn","name":"disk"}"#)
    }

    @Test("context.traits become user properties only if the settings say so")
    func traits() throws {
        let event = #"{"type":"track","event":"A","anonymousId":"1.2","context":{"traits":{"plan":"pro"}}}"#
        #expect(try !wire(event).contains("user_properties"))
        #expect(try wire(event, more: #""traits":"all""#).contains(#""user_properties":{"plan":{"value":"pro"}}"#))
        #expect(try !wire(#"{"type":"identify","anonymousId":"1.2","traits":{"a":1}}"#, more: #""traits":"none""#).contains("user_prop"))
    }

    @Test("products and items are Google's items, with Google's names")
    func items() throws {
        #expect(
            try parameters(tracked(#"{"products":[{"product_id":"p1","name":"N","price":2,"tags":["a","b"]},{"quantity":1}],"total":5}"#))
                == #"{"items":[{"item_id":"p1","item_name":"N","price":2,"tags":"a,b"},{"quantity":1}],"total":5}"#)
        #expect(try parameters(tracked(#"{"items":[]}"#)) == #"{"items":[]}"#)
        let own = (0..<11).map { "\"own\($0)\":1" }.joined(separator: ",")
        #expect(try wire(tracked("{\"items\":[{\(own)}]}")).hasPrefix("a parameter of an item is one more than the 10"))
        let many = Array(repeating: "{\"price\":1}", count: 201).joined(separator: ",")
        #expect(try wire(tracked("{\"items\":[\(many)]}")) == "a parameter is a list of more than 200 items")
    }

    @Test("the id is the one of id_member, of externalId, the anonymousId if it has Google's form, or derived: always the same")
    func ids() throws {
        func id(_ members: String, _ settings: String = web, more: String = "") throws -> String {
            let text = try wire("{\"type\":\"track\",\"event\":\"A\",\(members)}", settings, more: more)
            return String(text.prefix { $0 != "," })
        }
        let external = #""externalId":[{"type":"x","id":"0.0"},{"type":"ga4ClientId","id":"5.6"}]"#
        #expect(try id(#""anonymousId":"1.2","context":{"ga4":{"id":"3.4"},\#(external)}"#) == #"{"client_id":"3.4""#)
        #expect(try id(#""anonymousId":"1.2","context":{\#(external)}"#) == #"{"client_id":"5.6""#)
        #expect(try id(#""anonymousId":"1.2""#) == #"{"client_id":"1.2""#)
        #expect(try id(#""anonymousId":"1.2","ga":"7.8""#, more: #""id_member":"ga""#) == #"{"client_id":"7.8""#)
        // Two parts of the UUID of version 5 of "a1", 9e3a5a78-7550-5830-8b05-5e55f9145e8d, as numbers.
        let derived = try id(#""anonymousId":"a1""#)
        #expect(derived == #"{"client_id":"507140730.2031378063""#)
        #expect(try derived == id(#""userId":"u","anonymousId":"a1""#))
        #expect(try derived == id(#""userId":"a1""#) && derived != id(#""anonymousId":"a2""#))
        #expect(try id(#""anonymousId":"a1""#, more: #""derive_id":false"#) == "the event has no client_id")
        #expect(try id(#""anonymousId":"a1""#, app) == "the event has no app_instance_id")
        let instance = try id(#""anonymousId":"a1""#, app, more: #""derive_id":true"#)
        #expect(instance == #"{"app_instance_id":"9e3a5a78755058308b055e55f9145e8d""#)
        for wrong in ["GA1.1.1.2", "0.1", "1.", "1.2.3", "a.b", ""] {
            #expect(try id(#""anonymousId":"1.2","context":{"ga4":{"id":"\#(wrong)"}}"#).hasPrefix("the id of the event for Google"))
        }
        #expect(try id(#""x":1"#) == "the event has no client_id")
    }

    @Test("events of one client share a body, up to 25 and below 130,000 bytes, and others do not")
    func bodies() throws {
        func event(_ client: String, _ more: String = "") -> String {
            #"{"type":"track","event":"A","anonymousId":"\#(client)"\#(more)}"#
        }
        func counts(_ events: [String]) throws -> [Int] {
            try map(events).json.map { (($0 as? [String: Any])?["events"] as? [Any])?.count ?? 0 }
        }
        #expect(try counts([event("1.2"), event("3.4"), event("1.2"), event("1.2", #","userId":"u""#)]) == [2, 1, 1])
        #expect(try counts(Array(repeating: event("1.2"), count: 60)) == [25, 25, 10])
        let denied = #","context":{"consent":{"google":{"ad_user_data":"denied"}}}"#
        #expect(try counts([event("1.2"), event("1.2", denied)]) == [1, 1])
        let items = Array(repeating: "{\"item_name\":\"\(String(repeating: "x", count: 100))\"}", count: 200).joined(separator: ",")
        let mapped = try map(Array(repeating: event("1.2", #","properties":{"items":[\#(items)]}"#), count: 12))
        #expect(mapped.bodies.count == 3 && mapped.bodies.allSatisfy { $0.text.utf8.count < 130_000 })
    }

    @Test("a body has at most 129,999 bytes")
    func largest() throws {
        let names = ["item_name", "item_brand", "item_category", "item_variant", "affiliation", "coupon"]
        let item = "{" + names.map { "\"\($0)\":\"\(String(repeating: "x", count: 100))\"" }.joined(separator: ",") + "}"
        /// Items of 700 bytes make the large part of the body, and ten parameters the rest.
        func event(_ padding: Int) -> String {
            let pads = (0..<10).map { "\"p\($0)\":\"\(String(repeating: "y", count: max(0, min(100, padding - $0 * 100))))\"" }
            return tracked("{\(pads.joined(separator: ",")),\"items\":[\(Array(repeating: item, count: 185).joined(separator: ","))]}")
        }
        let base = try wire(event(0)).utf8.count
        try #require((129_000..<129_999).contains(base))
        #expect(try wire(event(129_999 - base)).utf8.count == 129_999)
        #expect(try wire(event(130_000 - base)).hasPrefix("the event needs a body of 130000 bytes"))
    }

    @Test("an event that is older than 72 hours is refused, and one of the future happened when it arrived")
    func times() throws {
        func reason(_ age: Int64) throws -> String? {
            let day: Int64 = 86_400_000_000_000
            return try map([#"{"type":"track","event":"A","anonymousId":"1.2"}"#], arrival: now - 3 * day - age).refused[0]
        }
        #expect(try reason(0) == nil)
        #expect(try reason(1) == "the event is older than 72 hours, and Google would record it at another time")
        #expect(try wire(tracked("{}").replacing("2026-11", with: "2099-11")).contains("\"timestamp_micros\":\(now / 1000)"))
        #expect(try wire(tracked("{}").replacing(time, with: "2026-11-10T00:00:00Z")).hasPrefix("the event is older"))
        // The time of the hand-over changes no byte.
        let event = tracked("{}")
        #expect(try map([event]).bodies[0].text == map([event], now: now + 86_400_000_000_000).bodies[0].text)
    }
}
