import Foundation
import Testing
import VendorSupport

@testable import Sentry

private let time = "2026-11-21T05:49:23.123Z"
private let uuid = "0190A1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
private let id = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b"

private func map(_ events: [String], _ settings: String = "") throws -> Mapped {
    try Mapped(
        Sentry.self, #"{"dsn":"https://k0123456789@sentry.invalid/42"\#(settings.isEmpty ? "" : ",")\#(settings)}"#, events,
        arrivals: events.map { _ in 1_795_240_164_000_000_000 })
}

/// Returns the payload of one event, or why it is refused.
private func wire(_ event: String, _ settings: String = "") throws -> String {
    let mapped = try map([event], settings)
    if let reason = mapped.refused[0] { return reason }
    return String(mapped.bodies[0].text.split(separator: "\n")[2])
}

private func json(_ event: String, _ settings: String = "") throws -> [String: Any] {
    let text = try wire(event, settings)
    return try #require((try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any], "\(text)")
}

/// A track event with these properties.
private func track(_ properties: String, _ more: String = "") -> String {
    #"{"type":"track","event":"Failed","messageId":"\#(uuid)","timestamp":"\#(time)","properties":{\#(properties)}\#(more)}"#
}

@Suite("sentry: mapping")
struct SentryMappingTests {
    @Test("an envelope has one event, with its id and its length")
    func envelope() throws {
        let mapped = try map([track(#""error":"no é""#), track(#""error":"b""#)])
        let payload = """
            {"event_id":"\(id)","timestamp":"\(time)","level":"error","platform":"other",\
            "sdk":{"name":"switchyard","version":"0.1.0","settings":{"infer_ip":"never"}},"exception":{"values":[{"value":"no é"}]},\
            "tags":{"event":"Failed"},"user":{},"request":{},"contexts":{},"extra":{}}
            """
        #expect(mapped.bodies.count == 2)
        #expect(
            mapped.bodies[0].text == "{\"event_id\":\"\(id)\"}\n{\"type\":\"event\",\"length\":\(payload.utf8.count)}\n\(payload)\n")
    }

    @Test("the id is made of the messageId, or of the event")
    func ids() throws {
        func id(_ member: String) throws -> String {
            try #require(json(#"{"type":"track","event":"A",\#(member)"properties":{"error":"b"}}"#)["event_id"] as? String)
        }
        #expect(try id(#""messageId":"m1","#) == id(#""messageId":"m1","#) && id(#""messageId":"m1","#) != id(#""messageId":"m2","#))
        #expect(try id("") == id("") && id("") != id(#""userId":"u","#) && id("").utf8.count == 32)
        #expect(try id(#""messageId":"00000000-0000-0000-0000-000000000000","#).contains { $0 != "0" })
        // An id that is not Sentry's form stays.
        #expect(
            try wire(#"{"type":"track","event":"A","messageId":"m1","properties":{"error":"b"}}"#)
                .contains(#""extra":{"message_id":"m1"}"#))
    }

    @Test(
        "an error has the forms of clients",
        arguments: [
            (
                #""exception":{"values":[{"type":"E","value":"v","stacktrace":{"frames":[]}}]}"#,
                #"{"values":[{"type":"E","value":"v","stacktrace":{"frames":[]}}]}"#, "{}"
            ),
            (#""exception":[{"type":"E"}],"x":1"#, #"{"values":[{"type":"E"}]}"#, #"{"x":1}"#),
            (#""$exception_list":[{"value":"v"}]"#, #"{"values":[{"value":"v"}]}"#, "{}"),
            (
                #""error":{"name":"E","message":"v","stack":"at x"}"#, #"{"values":[{"type":"E","value":"v"}]}"#,
                #"{"error":{"stack":"at x"}}"#
            ),
            (
                #""error":{"type":"E","value":"v","module":"m","mechanism":{"handled":false},"stacktrace":{"frames":[{"lineno":1}]}}"#,
                #"{"values":[{"type":"E","value":"v","stacktrace":{"frames":[{"lineno":1}]},"module":"m","mechanism":{"handled":false}}]}"#,
                "{}"
            ),
            (#""error":"v","error_type":"E""#, #"{"values":[{"type":"E","value":"v"}]}"#, "{}"),
            (
                #""error_message":"v","exception_type":"E","stacktrace":{"frames":[]}"#,
                #"{"values":[{"type":"E","value":"v","stacktrace":{"frames":[]}}]}"#, "{}"
            ),
            (#""exception":"v","error":"w""#, #"{"values":[{"value":"v"}]}"#, #"{"error":"w"}"#),
            (#""exception":[{"type":"E"},{"x":1}],"error":"w""#, #"{"values":[{"value":"w"}]}"#, #"{"exception":[{"type":"E"},{"x":1}]}"#),
        ])
    func errors(properties: String, exception: String, extra: String) throws {
        let text = try wire(track(properties))
        #expect(text.contains("\"exception\":\(exception),\"tags\"") && text.hasSuffix("\"extra\":\(extra)}"), "\(text)")
    }

    @Test("levels have Sentry's names, and without an exception the message is shown")
    func levels() throws {
        func level(_ text: String) throws -> String? { try json(track(#""level":"\#(text)","error":"e""#))["level"] as? String }
        for (from, to) in [("FATAL", "fatal"), ("critical", "fatal"), ("err", "error"), ("Warn", "warning"), ("notice", "info")] {
            #expect(try level(from) == to)
        }
        #expect(try level("trace") == "debug" && level("strange") == "error")
        #expect(try wire(track(#""level":"strange","error":"e""#)).hasSuffix(#""extra":{"level":"strange"}}"#))
        #expect(try wire(track(#""level":"error","message":"m""#)).contains(#""logentry":{"formatted":"m"},"tags":{"event":"Failed"}"#))
        #expect(try wire(track(#""level":"fatal""#)).contains(#""logentry":{"formatted":"Failed"}"#))
    }

    @Test("the person, the surroundings and the tags have Sentry's names")
    func surroundings() throws {
        let event = track(
            #""error":"e","platform":"python","logger":"l","transaction":"/x","fingerprint":["a"],"breadcrumbs":[{"message":"b"}],"#
                + #""release":"r@1","environment":"live","tags":{"a":"b","n":1},"cart":{"x":1.50}"#,
            #","userId":7,"context":{"ip":"8.8.8.8","traits":{"email":"a@b.c"},"os":{"name":"iOS","version":"17","x":1},"locale":"de","#
                + #""device":{"model":"m"},"app":{"name":"n","version":"1.2"},"page":{"url":"https://x/"},"userAgent":"ua"}"#)
        #expect(
            try wire(event) == """
                {"event_id":"\(id)","timestamp":"\(time)","level":"error","platform":"python",\
                "sdk":{"name":"switchyard","version":"0.1.0","settings":{"infer_ip":"never"}},"logger":"l","transaction":"/x",\
                "environment":"live","release":"r@1","fingerprint":["a"],"breadcrumbs":[{"message":"b"}],\
                "exception":{"values":[{"value":"e"}]},"tags":{"a":"b","n":1,"event":"Failed"},\
                "user":{"id":"7","email":"a@b.c","ip_address":"8.8.8.8"},\
                "request":{"url":"https://x/","headers":{"User-Agent":"ua"}},\
                "contexts":{"os":{"name":"iOS","version":"17"},"device":{"model":"m"},"app":{"app_name":"n"},"culture":{"locale":"de"}},\
                "extra":{"cart":{"x":1.50},"switchyard_unmapped":{"context":{"os":{"x":1},"app":{"version":"1.2"}}}}}
                """)
    }

    @Test("settings stand in for what an event does not name")
    func settings() throws {
        let settings = #""environment":"live","release":"r1","platform":"go""#
        let plain = try json(track(#""error":"e""#), settings)
        #expect(plain["environment"] as? String == "live" && plain["release"] as? String == "r1" && plain["platform"] as? String == "go")
        let own = try json(track(#""error":"e","environment":"test","release":"r2","platform":"c""#), settings)
        #expect(own["environment"] as? String == "test" && own["release"] as? String == "r2" && own["platform"] as? String == "c")
        let bad = try wire(track(#""error":"e","environment":"a/b","platform":"x""#), settings)
        #expect(bad.contains(#""environment":"live""#) && bad.hasSuffix(#""extra":{"environment":"a/b","platform":"x"}}"#))
        #expect(try json(track(#""error":"e""#, #","context":{"app":{"version":"3"}}"#), settings)["release"] as? String == "3")
    }

    @Test("tags that Sentry does not take are in extra")
    func tags() throws {
        let text = try wire(track(#""error":"e","tags":{"a b":"c","ok":true,"list":[1],"line":"a\nb"}"#))
        #expect(text.contains(#""tags":{"ok":true,"event":"Failed"}"#))
        #expect(text.hasSuffix(#""extra":{"tags":{"a b":"c","ok":true,"list":[1],"line":"a\nb"}}}"#))
        let key = String(repeating: "k", count: 32)
        #expect(try wire(track(#""error":"e","tags":{"\#(key)":1,"\#(key)k":2}"#)).contains(#""tags":{"\#(key)":1,"event":"Failed"}"#))
        #expect(try wire(track(#""error":"e","tags":{"event":"own"}"#)).contains(#""tags":{"event":"own"}"#))
    }

    @Test(
        "what is no error is refused with the reason",
        arguments: [
            (#"{"type":"track","event":"A"}"#, "the event tells of no error"),
            (track(#""level":"warning""#), "the event tells of no error"), (track(#""error":{}"#), "the event tells of no error"),
            (track(#""error":null,"exception":[],"error_message":"""#), "the event tells of no error"),
            (#"{"type":"identify","userId":"u","properties":{"error":"e"}}"#, "only track events can be errors"),
            (#"{"type":"page","name":"A"}"#, "only track events can be errors"),
            (#"{"type":"track","properties":{"level":"error"}}"#, "the event has no exception, no message and no name"),
            (track(#""error":"e","switchyard_unmapped":1"#), "properties has the member switchyard_unmapped"),
        ])
    func refused(event: String, words: String) throws { #expect(try wire(event).hasPrefix(words)) }

    @Test("with take all, every track event of the route is taken")
    func all() throws {
        let text = try wire(#"{"type":"track","event":"A","userId":"u","properties":{"level":"info"}}"#, #""take":"all""#)
        #expect(text.contains(#""level":"info""#) && text.contains(#""logentry":{"formatted":"A"}"#))
        #expect(try wire(#"{"type":"log","userId":"u"}"#, #""take":"all""#).contains(#""logentry":{"formatted":"log"}"#))
        #expect(try wire(#"{"type":"identify","userId":"u"}"#, #""take":"all""#) == "only track events can be errors")
    }

    @Test("an event has at most 1 MiB")
    func lengths() throws {
        func large(_ count: Int) throws -> String { try wire(track(#""error":"e","x":"\#(String(repeating: "x", count: count))""#)) }
        let around = try large(0).utf8.count
        #expect(try large((1 << 20) - around).utf8.count == 1 << 20)
        #expect(try large((1 << 20) + 1 - around).hasPrefix("the event has 1048577 bytes"))
    }

    @Test(
        "a DSN is read, or refused without being shown",
        arguments: [
            ("https://k1@o1.ingest.sentry.io/2", "https://o1.ingest.sentry.io|2|k1|"),
            ("http://k1:s1@host:9000/a/b/3", "http://host:9000/a/b|3|k1|s1"), ("https://o1.ingest.sentry.io/2", ""), ("k1@host/2", ""),
            ("https://k1@host", ""), ("https://k1@/2", ""), ("https://k1@host/", ""), ("https://k 1@host/2", ""),
            ("https://a:b:c@host/2", ""),
            ("https://k1@host/2?x=1", ""), ("https://k1@h@host/2", ""), ("", ""),
        ])
    func dsn(text: String, parts: String) {
        let dsn = try? DSN(text)
        #expect(dsn.map { "\($0.base)|\($0.project)|\($0.key)|\($0.secret ?? "")" } ?? "" == parts)
    }
}
