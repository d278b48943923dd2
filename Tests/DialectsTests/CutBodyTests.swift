// Tests bodies that are cut off, nested deeply or empty, in every dialect.

import Dialects
import Events
import Testing

@Suite("A body of a request")
struct CutBodyTests {
    private static let log = """
        {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeLogs":[{"scope":{"name":"s"},
        "logRecords":[{"body":{"stringValue":"one"}},{"body":{"intValue":"2"}}]}]},{"scopeLogs":[{"logRecords":[{"eventName":"three"}]}]}]}
        """
    private static let bodies: [(name: String, body: String, dialect: any Dialect)] = [
        ("lines", #"{"a":1}\#n{"b":"x\n"}\#n{"c":[{}]}"#, Native()),
        ("an array", #"[{"a":1}, {"b":"]}"},{"c":[{}]}]"#, Native()),
        ("objects over several lines", "{\n\"a\":1\n}\n{\n\"b\":[\n2]\n}", Native()),
        ("a batch", #"{"sentAt":"2026-11-21T05:00:00Z","context":{"a":{"b":1}},"batch":[{"x":1},{"y":"{"},{"z":[2]}]}"#, Segment(.batch)),
        ("logs", log, OTLPLogs(.json)),
    ]

    @Test("that is cut off anywhere keeps only events from before the cut, and reports the cut", arguments: bodies.indices)
    func cut(index: Int) {
        let (name, body, dialect) = Self.bodies[index]
        let bytes = Array(body.utf8)
        let whole = translate(bytes, dialect)
        #expect(whole.results == whole.lines && whole.refusal == nil && whole.lines.count > 1)
        for end in 1..<bytes.count {
            let part = translate(Array(bytes[..<end]), dialect)
            #expect(part.isEveryLineAnEvent && part.lines == Array(whole.lines.prefix(part.lines.count)), "\(name) at \(end)")
            let isReported = part.refusal != nil || part.results != part.lines
            // A list that does not end refuses the whole body, so that no answer can call it a success.
            if name == "an array" || name == "a batch" || name == "logs" { #expect(part.refusal != nil, "\(name) at \(end)") }
            // Between two lines nothing shows that the body was longer.
            let last = bytes[..<end].last { $0 != UInt8(ascii: "\n") }
            let isBetweenEvents = dialect is Native && name != "an array" && last == UInt8(ascii: "}")
            #expect(isReported || isBetweenEvents, "\(name) at \(end)")
        }
    }

    /// Each element but the last is broken in a way that could swallow or split its neighbours.
    @Test(
        "is refused whole if the end of an event is not certain, and no good event is swallowed",
        arguments: [
            #"{"a":"x},{"good":1}"#, #"{"a":x"},{"good":1}"#, #"{"a":"x},{"b":"y"},{"good":1}"#, #"{"a":{"b":1},{"good":1}"#,
            #"{"a":{"b":1},{"good":1}}"#, #"{]},{"good":1}"#, #"{"a":[1},{"good":1}"#, #""a":1},{"good":1}"#, #"{"a":1}},{"good":1}"#,
            #"{"a":1}],{"good":1}"#, #"{"a":"b""c":1},{"good":1}"#, #"{"a":"x\"},{"good":1}"#, #"{{"a":1},{"good":1}"#,
        ])
    func uncertain(list: String) {
        let logs = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":["# + list + "]}]}]}"
        let bodies: [(String, any Dialect)] = [
            ("[\(list)]", Native()), ("{\"batch\":[\(list)]}", Segment(.batch)), (logs, OTLPLogs(.json)),
        ]
        for (body, dialect) in bodies { #expect(translate(body, dialect).refusal != nil, "\(body)") }
    }

    @Test(
        "loses only the event whose end is certain",
        arguments: [
            "nope", "7", #""text""#, "{a:1}", "{'a':1}", #"{"a":1,}"#, #"{"a":}"#, #"{"a":01}"#, #"{"a":"\x"}"#, "[1]", "{\"a\":[,]}",
        ])
    func certain(broken: String) {
        let bodies: [(String, any Dialect)] = [
            (#"[\#(broken),{"good":1}]"#, Native()), (#"{"batch":[\#(broken) , {"good":1}]}"#, Segment(.batch)),
            (#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[\#(broken),{"body":{"intValue":1}}]}]}]}"#, OTLPLogs(.json)),
        ]
        for (body, dialect) in bodies {
            let part = translate(body, dialect)
            #expect(part.refusal == nil && part.results.count == 2 && part.lines.count == 1, "\(body): \(part.results)")
        }
    }

    @Test("that names its list twice is refused, since one of the two would vanish")
    func twice() {
        #expect(translate(#"{"batch":[{"a":1}],"batch":[{"a":2}]}"#, Segment(.batch)).refusal == "19: batch is there twice")
        let logs = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}],"log_records":[{}]}]}]}"#
        #expect(translate(logs, OTLPLogs(.json)).refusal == "50: a list of logs is there twice")
    }

    @Test("of one call that is cut off anywhere gives no event and one report")
    func cutCall() {
        let bytes = Array(#"{"userId":"u","properties":{"a":[1,"x"]},"timestamp":"2026-11-21T05:00:00Z"}"#.utf8)
        for end in 0..<bytes.count {
            let part = translate(Array(bytes[..<end]), Segment(.track))
            #expect(part.lines.isEmpty && (part.refusal == nil) == (part.results.count == 1), "\(end)")
        }
    }

    @Test("in the binary encoding that is cut off anywhere is refused, with no event from an incomplete group")
    func cutBinary() throws {
        let bytes = try sample("opentelemetry-python.pb")
        let whole = translate(bytes, OTLPLogs(.protobuf))
        for end in stride(from: 1, to: bytes.count, by: 3) {
            let part = translate(Array(bytes[..<end]), OTLPLogs(.protobuf))
            #expect(part.refusal != nil && part.isEveryLineAnEvent && whole.lines.starts(with: part.lines), "\(end)")
        }
    }

    @Test("without events gives no line and no fault")
    func empty() {
        for body in ["{\"batch\":[]}", "{\"batch\":[ ],\"context\":null,\"integrations\":{}}", "{\"batch\":[,,]}"] {
            let translated = translate(body, Segment(.batch))
            #expect(translated.results == [] && translated.lines == [] && translated.refusal == nil, "\(body)")
        }
        let logs = [
            "{}", " { } \n", "{\"resourceLogs\":[]}", "{\"resourceLogs\":null}", "{\"resourceLogs\":[{}]}",
            "{\"resourceLogs\":[{\"scopeLogs\":null,\"resource\":{}}]}", "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[]}]}]}",
        ]
        for body in logs {
            let translated = translate(body, OTLPLogs(.json))
            #expect(translated.results == [] && translated.refusal == nil, "\(body)")
        }
        for bytes in [[], [0x0a, 0], [0x0a, 2, 0x12, 0], [0x0a, 2, 0x0a, 0]] as [[UInt8]] {
            let translated = translate(bytes, OTLPLogs(.protobuf))
            #expect(translated.results == [] && translated.refusal == nil, "\(bytes)")
        }
        #expect(translate("\u{feff}", Native()).refusal == nil && translate("\u{feff} [ , ] ", Native()).results == [])
    }

    @Test("may nest its events to the limit and no deeper, in every dialect")
    func depth() {
        let limits = TranslationLimits(depth: 6)
        func nested(_ levels: Int) -> String { String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
        for (levels, isTaken) in [(5, true), (6, false)] {
            let event = "{\"a\":\(nested(levels))}"
            #expect(translate(event, Native(), limits: limits).lines.count == (isTaken ? 1 : 0))
            #expect(translate("[\(event)]", Native(), limits: limits).lines.count == (isTaken ? 1 : 0))
            #expect(translate(event, Segment(.track), limits: limits).lines.count == (isTaken ? 1 : 0))
            #expect(translate("{\"batch\":[\(event)]}", Segment(.batch), limits: limits).lines.count == (isTaken ? 1 : 0))
        }
        // The value of a log record lies in one object, and each list costs one more level.
        for (lists, isTaken) in [(5, true), (6, false)] {
            var value = "{\"intValue\":1}"
            for _ in 0..<lists { value = "{\"arrayValue\":{\"values\":[\(value)]}}" }
            let body = "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":\(value)},{}]}]}]}"
            let translated = translate(body, OTLPLogs(.json), limits: TranslationLimits(depth: 3 * lists + (isTaken ? 2 : 1)))
            #expect(translated.results.count == 2 && translated.lines.count == (isTaken ? 2 : 1), "\(translated.results)")
        }
    }
}
