import Events
import PluginKit
import Testing

@Suite("an adapter reads an event")
struct EventValueTests {
    /// Calls `body` with an event whose memory ends with the event.
    private func reading<R>(_ event: String, _ body: (EventValue) throws -> R) rethrows -> R {
        try Array(event.utf8).withUnsafeBytes { try body(EventValue(json: $0)) }
    }

    private func json(_ value: EventValue?) -> String? { value.map { String(decoding: $0.json, as: UTF8.self) } }

    @Test("a member is found by its key, by several keys and by a path")
    func members() throws {
        let path = try EventPath(#"properties["a.b"].c"#)
        let other = try EventPath("event.x")
        reading(#" { "event" : "item_viewed", "properties": {"a.b": {"c": [1, 2]}, "": 7, "n":null} } "#) { event in
            #expect(event.kind == .object)
            #expect(event["event"]?.text == "item_viewed")
            #expect(event["properties"]?["a.b"]?["c"]?.elements.map(\.integer) == [1, 2])
            #expect(json(event[path]) == "[1, 2]")
            #expect(event["properties"]?[""]?.integer == 7)
            #expect(event["properties"]?["n"]?.isNull == true)
            #expect(event["absent"] == nil && event["event"]?["x"] == nil && event[other] == nil)
            #expect(event.members.map { $0.key.text } == ["event", "properties"])
            #expect(json(event[EventPath(keys: [])])?.hasPrefix("{") == true)
        }
        #expect(throws: SettingsFault.self) { try EventPath("a..b") }
    }

    @Test("every event that the router accepts can be read")
    func hostile() throws {
        let deep = 100_000
        for event in [
            #"{"a":123456789012345678901234567890,"b":1E400,"c":-1e-400}"#, #"{"a":1,"b":2,"b":3}"#, #"{"a":"\ud800","\udfff":1}"#,
            #"{"\u0000":"\u0000"}"#, #"{"a":"\\\"\/\b\f\n\r\t\u00e9\ud83d\ude97"}"#, "{}", "{\"a\":[]}", #"{"a":"}]{[,:"}"#,
            "{\"a\":\"\u{2028}\"}",
            "{\"a\":" + String(repeating: "[", count: deep - 1) + String(repeating: "]", count: deep - 1) + "}",
            "{\"a\":\"" + String(repeating: "x", count: 1 << 20) + "\",\"b\":1}",
        ] {
            var block = Block()
            block.text.append(event)
            block.seal()
            var scanner = Scanner(PathTrie([]), depth: deep)
            let isEvent = scanner.scan(block.bytes, 0) != nil
            #expect(isEvent)
            reading(event) { event in
                // Reading all levels costs the length of each level.
                var waiting = event["a"]?.elements.first { _ in true }?.kind == .list ? event.members.map { $0.key } : [event]
                while let value = waiting.popLast() {
                    waiting += value.elements
                    waiting += value.members.map(\.value)
                    #expect(value.kind != .text || value.repairedText != nil)
                }
            }
        }
    }

    @Test("of duplicate keys the first one is found, as in the router's own rules, and all of them are among the members")
    func duplicates() {
        reading(#"{"a":1,"b":2,"\u0061":3}"#) { event in
            #expect(event["a"]?.integer == 1)
            #expect(event.members.map { $0.value.integer } == [1, 2, 3])
        }
    }

    @Test("a key is compared with its escapes decoded")
    func keys() {
        reading(#"{"\u0000":1,"ty\u0070e":2,"\ud83d\ude97":3,"\ud800":4,"a\"b":5}"#) { event in
            #expect(event["\0"]?.integer == 1)
            #expect(event["type"]?.integer == 2)
            #expect(event["🚗"]?.integer == 3)
            #expect(event["\u{FFFD}"] == nil, "half of a pair is not text")
            #expect(event["a\"b"]?.integer == 5)
            // Keys are compared as bytes, so é differs from e with a combining accent.
            #expect(event["e\u{301}"] == nil)
        }
    }

    @Test(
        "a number is read if it fits, and its digits stay available",
        arguments: [
            ("0", 0, 0.0), ("-0", 0, -0.0), ("9007199254740993", 9_007_199_254_740_993, 9_007_199_254_740_992.0), ("3.0", 3, 3.0),
            ("30e-1", 3, 3.0), ("2.5", nil, 2.5), ("9223372036854775807", .max, 9_223_372_036_854_775_807.0),
            ("-9223372036854775808", .min, -9_223_372_036_854_775_808.0), ("9223372036854775808", nil, 9_223_372_036_854_775_808.0),
            ("1E400", nil, nil), ("1e-400", nil, 0.0), ("0e-400", 0, 0.0), ("9007199254740992.5", nil, 9_007_199_254_740_992.0),
            ("0.99999999999999999999", nil, 1.0), ("12.50e1", 125, 125.0), ("-9.3e18", nil, -9.3e18),
            ("-9.1e18", -9_100_000_000_000_000_000, -9.1e18),
            ("1e99999999999999999999", nil, nil), ("-0.0E+7", 0, -0.0), ("1e15", 1_000_000_000_000_000, 1e15), ("1e19", nil, 1e19),
        ] as [(String, Int?, Double?)])
    func numbers(written: String, integer: Int?, number: Double?) {
        reading("{\"n\":\(written)}") { event in
            #expect(event["n"]?.kind == .number)
            #expect(event["n"]?.integer == integer && event["n"]?.number == number)
            #expect(json(event["n"]) == written)
        }
    }

    @Test(
        "a string is decoded; with a single half of a surrogate pair it is not text, but can be repaired",
        arguments: [
            (#""""#, "", ""), (#""a\u0000b""#, "a\0b", "a\0b"), (#""\ud83d\ude97!""#, "🚗!", "🚗!"), (#""x\ud83dy""#, nil, "x\u{FFFD}y"),
            (#""\ude97""#, nil, "\u{FFFD}"), (#""\ud83d\ud83d\ude97\ud83d""#, nil, "\u{FFFD}🚗\u{FFFD}"),
            (#""\\\ud800\\ud800""#, nil, "\\\u{FFFD}\\ud800"),
        ] as [(String, String?, String)])
    func strings(written: String, text: String?, repaired: String) {
        reading("[\(written)]") { list in
            let value = list.elements.map { $0 }.first
            #expect(value?.text == text && value?.repairedText == repaired)
            #expect(json(value) == written)
        }
    }

    @Test("a value read as another kind is nil")
    func otherKinds() {
        reading(#"{"s":"1","n":1,"t":true,"f":false,"o":{},"l":[],"z":null}"#) { event in
            #expect(event["s"]?.integer == nil && event["s"]?.number == nil && event["s"]?.flag == nil)
            #expect(event["n"]?.text == nil && event["n"]?.repairedText == nil && event["n"]?["x"] == nil)
            #expect(event["t"]?.flag == true && event["f"]?.flag == false && event["t"]?.isNull == false)
            #expect(event["o"]?.members.map { $0.key.text } == [] && event["o"]?.elements.map(\.kind) == [])
            #expect(event["l"]?.elements.map(\.kind) == [] && event["z"]?.kind == .null)
        }
    }

    @Test("the events of a batch can be read")
    func batch() {
        Batch.with([#"{"event":"a"}"#, #" {"event":"b"} "#]) { batch in
            #expect((0..<batch.count).map { batch.event($0)["event"]?.text } == ["a", "b"])
        }
    }

    @Test(
        "invalid text is never read beyond its end",
        arguments: ["", "{", "[", "\"", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[1", "[[", "{\"a\":{", "[\"\\"])
    func broken(text: String) {
        reading(text) { value in
            for _ in value.elements {}
            for _ in value.members {}
            _ = value["a"]
        }
    }
}
