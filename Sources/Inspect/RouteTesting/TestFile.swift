// A file of route tests: events, and what each route is expected to do with them. Its forms declare the keys once, for reading and for the
// JSON Schema that `switchyard schema --tests` prints. No placeholder of a test file is resolved. Everything that could change from run to run
// is in the file: the time, the environment, and what is on record about subjects.

public import Document
internal import Events
internal import Explaining
public import FormReading

public struct TestFile: Sendable {
    /// 2026-01-01T00:00:00Z, in nanoseconds since 1970.
    public static let usualTime: Int64 = 1_767_225_600_000_000_000

    /// The path of the configuration, from the folder of the test file.
    public var routes = "routes.json"
    public var environment: [(key: String, value: String)] = []
    public var files: [(key: String, value: String)] = []
    public var now = TestFile.usualTime
    /// The statements of consent that came before, one event each.
    public var consent: [EventLine] = []
    public var tests: [RouteTest] = []

    /// An event on one line.
    public struct EventLine: Sendable {
        public var bytes: [UInt8] = []
    }
}

/// One event, and what is expected of it.
public struct RouteTest: Sendable {
    public var name = ""
    /// The arrival of the event. If it is nil, the file says it.
    public var now: Int64?
    /// The name of its source. If it is nil, it came from the first one.
    public var source: String?
    public var event = TestFile.EventLine()
    /// It is nil if the file expects nothing yet.
    public var expected: Expectation?
    /// The offsets in the file: of the test, of its first key, of the value of `expect` or nil, and of the end of its last member.
    public var offset = 0
    public var start = 0
    public var expectedRange: Range<Int>?
    public var end = 0
}

extension TestFile {
    public static let form = Form<TestFile>.object(
        TestFile(),
        [
            Member("$schema", Forms.string, "The file or address of the schema, for editors; none when left out."),
            Member(
                "routes", text, "The configuration, from the folder of this file; routes.json when left out.", example: #""routes.json""#,
                into: \.routes),
            Member(
                "environment", texts, "Values of variables for ${env:NAME}; others come from the environment of the command.",
                example: #"{"IDS_KEY": "0123456789abcdef"}"#, into: \.environment),
            Member(
                "files", texts, "Contents of files for ${file:PATH}; others are read.", example: #"{"/etc/ids.key": "0123456789abcdef"}"#,
                into: \.files),
            Member(
                "now", time, "When the events arrive; 2026-01-01T00:00:00Z when left out.", example: #""2026-03-14T09:26:53Z""#, into: \.now
            ),
            Member(
                "consent", Forms.list("events", of: event),
                "Events that stated consent before, in their order, from a source that may write the ledger; none when left out.",
                example: #"[{"type": "consent", "userId": "u-1", "consent": {"level": "standard"}}]"#, into: \.consent),
            Member(
                "tests", Forms.list("tests", of: test) { tests, reading in refuseEqualNames(tests, reading) }, required: true,
                "The tests, each with one event.", into: \.tests),
        ])

    private static let test = Form<RouteTest>.object(
        RouteTest(),
        [
            Member("name", Forms.name, required: true, "What the test shows.", example: #""a purchase goes to the archive""#, into: \.name),
            Member("now", time, "When this event arrives; the time of the file when left out.", into: \.now),
            Member("source", Forms.name, "The source of the event; the first one when left out.", example: #""app""#, into: \.source),
            Member(
                "event", event, required: true, "The event: an object, or a string with the line as it came.",
                example: #"{"type": "track", "event": "purchase"}"#, into: \.event),
            Member(
                "expect", Expectation.form, "What becomes of it; --update writes it when left out.",
                example: #"{"routes": {"all": {"to": ["archive"]}}}"#, into: \.expected),
        ]
    ).then { test, node, _ in
        var test = test
        test.offset = node.offset
        test.start = node.entries?.first?.key.range.lowerBound ?? node.offset
        test.expectedRange = node["expect"]?.range
        test.end = node.entries?.last?.node.range.upperBound ?? node.range.lowerBound + 1
        return test
    }

    private static func refuseEqualNames(_ tests: [(value: RouteTest, node: Node)], _ reading: Reading) {
        var seen: Set<String> = []
        for (test, node) in tests where !test.name.isEmpty && !seen.insert(test.name).inserted {
            reading.fault(node["name"] ?? node, "another test is called \(Words.quoted(test.name)), expected another name")
        }
    }

    // MARK: - Values

    static let text = Form<String>(#"{"type":"string"}"#) { node, reading in Forms.string.read(node, reading)?.value }.showing(#""text""#)

    private static let texts = Forms.table("texts", by: Forms.anyKey, of: text)

    private static let time = Form<Int64>(#"{"type":"string","format":"date-time"}"#) { node, reading in
        guard let text = text.read(node, reading) else { return nil }
        let bytes = Array(text.utf8)
        if let time = bytes.withUnsafeBufferPointer(Times.parse) { return time }
        reading.refuse(node, "a time such as \"2026-03-14T09:26:53Z\"")
        return nil
    }.showing(#""2026-03-14T09:26:53Z""#)

    /// An object is put on one line, with the bytes of its tokens as they are.
    private static let event = Form<EventLine>(#"{"type":["object","string"]}"#) { node, reading in
        switch node.value {
        case .object: return EventLine(bytes: Array(JSONText.changing(reading.source.text(node.range)) { $0 }.utf8))
        case .text(let text): return EventLine(bytes: Array(text.value.utf8))
        default:
            reading.refuseType(node, "an event: an object, or its line as a string")
            return nil
        }
    }.showing(#"{"type": "track", "event": "purchase"}"#)
}

/// Reads the text of a test file. Throws its faults, each with its offset.
public struct TestFileFaults: Error {
    public var faults: [LocatedFault]
}

extension TestFile {
    public static func read(_ source: Source) throws(TestFileFaults) -> TestFile {
        let root: Node
        var faults: [LocatedFault]
        do throws(LocatedFault) {
            (root, faults) = try Outline.read(source, resolving: nil)
        } catch {
            throw TestFileFaults(faults: [error])
        }
        let reading = Reading(source, faults: faults)
        let file = form.read(root, reading)
        faults = reading.faults
        guard let file, faults.isEmpty else { throw TestFileFaults(faults: faults) }
        return file
    }

    /// The JSON Schema of a test file.
    public static var schema: String {
        let title = #"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Tests of the routes of Switchyard","#
        return title + form.schema.dropFirst().dropLast() + ",\"$defs\":"
            + JSONText.object(SchemaParts.definitions) + "}"
    }
}
