import Testing

@Suite("Bodies by expressions")
struct BodyTests {
    private let two = [#"{"event":"a","n":1,"messageId":"x"}"#, #"{"event":"b","n":2.50,"messageId":"y"}"#]

    @Test("without wrap each value is a line, and the event itself keeps its bytes")
    func lines() throws {
        #expect(try build(#""body": {}"#, two).bodies == [two[0] + "\n" + two[1] + "\n"])
        #expect(try build(#""body": {"each": "this"}"#, two).bodies == [two[0] + "\n" + two[1] + "\n"])
        #expect(try build(#""body": {"each": "{'e': event, 'n': n}"}"#, two).bodies == ["{\"e\":\"a\",\"n\":1}\n{\"e\":\"b\",\"n\":2.5}\n"])
    }

    @Test("without wrap a text is a line as it is, and a list is a line for each of its elements")
    func text() throws {
        #expect(try build(#""body": {"each": "event + ' \"' + string(n)"}"#, two).bodies == ["a \"1\nb \"2.5\n"])
        #expect(
            try build(#""body": {"each": "[{'create': {'_id': messageId}}, this, 'raw']"}"#, [two[0]]).bodies == [
                "{\"create\":{\"_id\":\"x\"}}\n\(two[0])\nraw\n"
            ])
        let list = #"{"l":[1,"two",{"a":[3]}]}"#
        #expect(try build(#""body": {"each": "l"}"#, [list]).bodies == ["1\ntwo\n{\"a\":[3]}\n"])
    }

    @Test("wrap puts the list of values where 'events' stands")
    func wrap() throws {
        #expect(try build(#""body": {"each": "n", "wrap": "events"}"#, two).bodies == ["[1,2.5]"])
        #expect(
            try build(
                #""body": {"each": "event", "wrap": "{'a': [1, {'rows': events}], 'k': constants.key}"}, "constants": {"key": "v\"1"}"#, two
            )
            .bodies == [#"{"a":[1,{"rows":["a","b"]}],"k":"v\"1"}"#])
        #expect(try build(#""body": {"wrap": "{'e': event}"}"#, two).bodies == ["{\"e\":\(two[0])}", "{\"e\":\(two[1])}"])
    }

    @Test("an event whose value cannot be computed is refused by itself, with the part that failed")
    func refused() throws {
        let built = try build(
            #""body": {"each": "properties.price * 2.0", "wrap": "events"}"#,
            [
                #"{"properties":{"price":2}}"#, #"{"properties":{}}"#, #"{"properties":{"price":"x"}}"#, #"{"properties":{"price":1.5}}"#,
            ])
        #expect(built.bodies == ["[4,3]"])
        #expect(built.settled[1] == "rejected 0 body.each: properties.price: the event has no such member")
        #expect(built.settled[2]?.hasPrefix("rejected 0 body.each: properties.price * 2.0: ") == true)
        #expect(built.settled.count == 2)
    }

    @Test("no event can add a line of its own, and none is without a line")
    func lineBreaks() throws {
        let hostile = [
            #"{"e":"a\nb"}"#, #"{"e":"a\rb"}"#, #"{"e":""}"#, #"{"e":[]}"#, #"{"e":["ok","a\nb"]}"#, #"{"e":"good"}"#, #"{"e":"\ud800"}"#,
        ]
        let built = try build(#""body": {"each": "e"}"#, hostile)
        #expect(built.bodies == ["good\n"])
        #expect(built.settled.keys.sorted() == [0, 1, 2, 3, 4, 6])
        #expect(built.settled[0] == "rejected 0 body.each gives a text with a line break, which would be more than one line")
        #expect(built.settled[2] == "rejected 0 body.each gives an empty text, so the event has no line")
        #expect(built.settled[3] == "rejected 0 body.each gives an empty list, so the event has no line")
        // As JSON a line break is an escape.
        #expect(try build(#""body": {"each": "{'e': e}"}"#, [hostile[0]]).bodies == ["{\"e\":\"a\\nb\"}\n"])
    }

    @Test("a body has at most the events and the bytes of the settings, with what stands around them")
    func limits() throws {
        let ten = (0..<10).map { "{\"n\":\($0)}" }
        #expect(
            try build(#""body": {"each": "n", "wrap": "{'e': events}", "events": 4}"#, ten).bodies == [
                #"{"e":[0,1,2,3]}"#, #"{"e":[4,5,6,7]}"#, #"{"e":[8,9]}"#,
            ])
        for most in 9...40 {
            let built = try build("\"body\": {\"each\": \"n\", \"wrap\": \"{'e': events}\", \"bytes\": \(most)}", ten)
            #expect(built.bodies.allSatisfy { $0.utf8.count <= most } && built.settled.isEmpty)
            // No body leaves out an event that would fit.
            #expect(built.bodies.dropLast().allSatisfy { $0.utf8.count + 2 > most }, "\(most)")
            #expect(built.bodies.joined().filter(\.isNumber) == "0123456789")
        }
        let lines = try build(#""body": {"each": "n", "bytes": 6}"#, ten)
        #expect(lines.bodies == ["0\n1\n2\n", "3\n4\n5\n", "6\n7\n8\n", "9\n"])
    }

    @Test("an event that is too large alone is refused, and the others are sent")
    func tooLarge() throws {
        let built = try build(
            #""body": {"each": "e", "wrap": "events", "bytes": 12}"#, [#"{"e":"12345678"}"#, #"{"e":"123456789"}"#, #"{"e":"1"}"#])
        #expect(built.bodies == [#"["12345678"]"#, #"["1"]"#])
        #expect(built.settled == [1: "rejected 0 the body of this event alone has 13 bytes, and body.bytes allows 12"])
    }

    @Test("an event that would be written again and again is refused at 16 MB, and a call ends at 64 MB")
    func amplification() throws {
        let pad = String(repeating: "x", count: 1 << 20)
        let event = "{\"l\":[\(Array(repeating: "1", count: 14).joined(separator: ","))],\"p\":\"\(pad)\"}"
        let large = try build(#""body": {"each": "l.map(x, l.map(y, this))", "wrap": "events"}"#, [event, "{\"l\":[]}"])
        #expect(large.bodies == ["[[]]"])
        #expect(
            large.settled[0]?.hasPrefix("rejected 0 body.each gives a value that is nested too deep or has more than 16777216 bytes")
                == true)
        let many = try build(#""body": {"each": "l.map(x, this)", "wrap": "events"}"#, Array(repeating: event, count: 7))
        #expect(many.bodies.count == 1 && many.settled.keys.sorted() == [5, 6])
        #expect(many.settled[5]?.hasPrefix("retry 0 the bodies of the events before it") == true)
    }

    @Test("the same events give the same bytes, whatever the time of the call is")
    func deterministic() throws {
        let settings = #"""
            "body": {"each": "{'t': now, 's': string(int(now) * 1000 + now.getMilliseconds()), 'all': json(this)}", "wrap": "{'e': events}"},
            "path": "'/' + event + '/{part}'"
            """#
        let arrivals: [Int64] = [1_700_000_000_123_456_789, 1_700_000_001_000_000_000]
        let first = try build(settings, two, arrivals: arrivals)
        let second = try build(settings, two, arrivals: arrivals)
        #expect(first.bodies == second.bodies && first.places == second.places)
        #expect(first.bodies[0].hasPrefix(#"{"e":[{"t":"2023-11-14T22:13:20.123456789Z","s":"1700000000123","all":"{\"event\":\"a\""#))
    }

    @Test("a broken line and a member that comes twice are refused with the reason")
    func unreadable() throws {
        let built = try build(#""body": {"each": "event"}"#, [#"{"event":"a","event":"b"}"#, #"{"event":}"#, #"{"event":"c"}"#])
        #expect(built.bodies == ["c\n"])
        #expect(built.settled.values.allSatisfy { $0.hasPrefix("rejected 0 the event cannot be read: ") })
    }

    @Test("every plain form can be combined with answers and paths")
    func plainForms() throws {
        let path = #""path": "'/p'", "#
        #expect(try build(path + #""body": "ndjson""#, two).bodies == [two[0] + "\n" + two[1] + "\n"])
        #expect(try build(path + #""body": "array""#, two).bodies == ["[\(two[0]),\(two[1])]"])
        #expect(try build(path + #""body": "event""#, two).bodies == two)
        #expect(try build(#""answers": [{"outcome": "delivered"}]"#, two).bodies == [two[0] + "\n" + two[1] + "\n"])
    }
}

@Suite("Paths and methods by expressions")
struct PlaceTests {
    @Test("events of one kind share a request, in their order")
    func kinds() throws {
        let events = ["a", "b", "a", "c", "b"].enumerated().map { "{\"k\":\"\($1)\",\"n\":\($0)}" }
        let built = try build(
            #""path": "'/' + k", "method": {"each": "k == 'b' ? 'PUT' : 'POST'"}, "body": {"each": "n", "wrap": "events"}"#, events)
        #expect(built.bodies == ["[0,2]", "[1,4]", "[3]"])
        #expect(
            built.places == [
                "POST https://example.test/base/a?key=1", "PUT https://example.test/base/b?key=1", "POST https://example.test/base/c?key=1",
            ])
    }

    @Test("an empty path is the URL itself, and a slash at the end of the URL is not doubled")
    func empty() throws {
        #expect(try build(#""path": "''""#, ["{}"]).places == ["POST https://example.test/base?key=1"])
        #expect(try build(#""path": "'/x'""#, ["{}"], url: "https://example.test/").places == ["POST https://example.test/x"])
    }

    @Test(
        "no event can leave the folder of the URL, change the query or the host, or end the line",
        arguments: [
            ("/a b", "/a%20b"), ("/?x=1&y", "/%3Fx=1&y"), ("/#f", "/%23f"), ("/a%2e%2e/b", "/a%252e%252e/b"), ("/é\\r\\n", "/%C3%A9%0D%0A"),
            ("/{x}", "/%7Bx%7D"), ("//host/x", "//host/x"), ("/a\\u0000b", "/a%00b"), ("/@host:1/", "/@host:1/"),
            ("/\\\\..\\\\x", "/%5C..%5Cx"),
        ])
    func encoded(path: String, expected: String) throws {
        #expect(try build(#""path": "p""#, [#"{"p":"\#(path)"}"#]).places == ["POST https://example.test/base\(expected)?key=1"])
    }

    @Test(
        "a path that leads elsewhere is refused",
        arguments: ["/..", "/../x", "/a/../../x", "/.", "/a/.", "x", "https://other.test/", "@other.test"])
    func refusedPath(path: String) throws {
        let built = try build(#""path": "p""#, [#"{"p":"\#(path)"}"#, #"{"p":"/ok"}"#])
        #expect(built.places == ["POST https://example.test/base/ok?key=1"])
        #expect(built.settled[0]?.hasPrefix("rejected 0 path gives a path ") == true)
    }

    @Test("a path of another type, a path that is too long and an unknown method are refused without the event's value in the reason")
    func refusedPlaces() throws {
        let long = "/" + String(repeating: "x", count: 4096)
        let built = try build(
            #""path": "p", "method": {"each": "m"}"#,
            [#"{"p":1,"m":"PUT"}"#, "{\"p\":\"\(long)\",\"m\":\"PUT\"}", #"{"p":"/x","m":"DELETE"}"#, #"{"p":"/x"}"#])
        #expect(built.bodies.isEmpty)
        #expect(
            built.settled == [
                0: "rejected 0 path gives no text", 1: "rejected 0 path gives a path of more than 4096 bytes",
                2: "rejected 0 method.each gives none of POST, PUT, PATCH", 3: "rejected 0 method.each: m: the event has no such member",
            ])
    }

    @Test("{part} is a hash of the body, so that only the same part has the same name")
    func part() throws {
        func place(_ events: [String]) throws -> String { try build(#""path": "'/x-{part}.ndjson'""#, events).places[0] }
        let one = try place(["{\"n\":1}", "{\"n\":2}"])
        #expect(one == "POST https://example.test/base/x-bffaac563f091c61dc28d2f37cd74d0b.ndjson?key=1")
        #expect(try one == place(["{\"n\":1}", "{\"n\":2}"]))
        #expect(try one != place(["{\"n\":2}", "{\"n\":1}"]))
        #expect(try place(["{\"n\":1}"]) != one)
    }
}

@Suite("Settings of bodies")
struct BodySettingsTests {
    @Test(
        "a wrap without the events, or with the events twice, is refused",
        arguments: ["{'a': 1}", "[events, events]", "[events, event]", "'events'", "json(events)", "{dyn(events): 1}"])
    func wrap(text: String) {
        #expect(refusal("\"body\": {\"wrap\": \"\(text)\"}").hasPrefix("body.wrap must hold 'events' or 'event' exactly once"))
    }

    @Test(
        "a fault of an expression names the setting and the column",
        arguments: [
            (#""body": {"each": "event +"}"#, "body.each, column "),
            (#""body": {"wrap": "evnts"}"#, "body.wrap, column 1: nothing is called 'evnts'"),
            (#""body": {"wrap": "size(events)"}"#, "body.wrap, column "),
            (#""body": {"wrap": "1 / 0 > 1 ? events : []"}"#, "body.wrap: 1 / 0: division by zero"),
            (
                #""path": "constants.tokn", "constants": {"token": "x"}"#,
                "path, column 11: there is no constant 'tokn', did you mean token?"
            ),
            (#""body": {"each": "constants.x"}"#, "body.each, column 11: there is no constant 'x'; add it to 'constants' of the provider"),
            (#""body": {"each": "constants"}"#, "body.each, column 1: 'constants' is no value by itself; write constants.NAME"),
            (#""body": {"each": "source"}"#, "body.each: the source of an event is not known"),
            (#""method": {"each": "now"}"#, "accepted"),
        ])
    func faults(settings: String, expected: String) {
        #expect(refusal(settings).hasPrefix(expected), "\(refusal(settings))")
    }

    @Test("limits that nothing fits into are refused")
    func limits() {
        #expect(
            refusal(#""body": {"wrap": "{'abc': events}", "bytes": 10}"#)
                == "body.bytes must be greater than the 10 bytes of body.wrap without events")
        #expect(refusal(#""body": {"wrap": "event", "events": 2}"#).hasPrefix("body.events is 2, but body.wrap holds a single 'event'"))
    }

    @Test("an event's own member named constants is reached by this")
    func constants() throws {
        let built = try build(
            #""body": {"each": "this.constants.a + constants.a"}, "constants": {"a": "2"}"#, [#"{"constants":{"a":"1"}}"#])
        #expect(built.bodies == ["12\n"])
    }
}
