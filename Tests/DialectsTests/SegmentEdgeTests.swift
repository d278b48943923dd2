// Tests members of the wrong type, extreme times and unusual keys in the events of Segment.

import Dialects
import Events
import Testing

private let now = "\"receivedAt\":\"2026-11-21T06:00:00.000Z\""

@Suite("An event of Segment")
struct SegmentEdgeTests {
    @Test(
        "keeps a time as it was sent if the clock cannot be corrected with it",
        arguments: [
            // The timestamp and the time of sending are not both readable.
            ("\"x\"", "\"2026-11-21T05:00:00Z\""), ("\"2026-11-21T05:00:00Z\"", "\"x\""), ("\"2026-11-21T05:00:00Z\"", "1795240800"),
            ("1795240800", "\"2026-11-21T05:00:00Z\""), ("\"2026-11-21T05:00:00Z\"", "null"), ("{}", "[]"), ("\"\"", "\"\""),
            ("\"2026-02-30T05:00:00Z\"", "\"2026-11-21T05:00:00Z\""), ("true", "\"2026-11-21T05:00:00Z\""),
            // The difference is beyond the range of times.
            ("\"1678-01-01T00:00:00Z\"", "\"2262-01-01T00:00:00Z\""), ("\"2262-01-01T00:00:00Z\"", "\"1678-01-01T00:00:00Z\""),
        ])
    func keptTimes(timestamp: String, sentAt: String) {
        let event = "{\"type\":\"track\",\"timestamp\":\(timestamp),\"sentAt\":\(sentAt)}"
        let translated = translate("{\"batch\":[\(event)]}", Segment(.batch))
        #expect(translated.lines == [String(event.dropLast()) + ",\(now)}"])
    }

    @Test("with a readable time of sending of its own does not use that of the batch")
    func ownSentAt() {
        let body = """
            {"sentAt":"2026-11-21T05:00:00Z","batch":[
            {"timestamp":"2026-11-21T04:00:00Z","sentAt":"2026-11-21T04:30:00Z"},{"timestamp":"2026-11-21T04:00:00Z","sentAt":7}]}
            """
        let translated = translate(body, Segment(.batch))
        #expect(
            translated.lines == [
                "{\"timestamp\":\"2026-11-21T05:30:00.000Z\",\"originalTimestamp\":\"2026-11-21T04:00:00Z\",\(now)}",
                "{\"timestamp\":\"2026-11-21T05:00:00.000Z\",\"originalTimestamp\":\"2026-11-21T04:00:00Z\",\(now)}",
            ])
    }

    @Test("has its members recognized also if their keys are written with escapes")
    func escapedKeys() {
        let translated = translate(#"{"\u0074ype":"page","\u0077riteKey":"secret","\u0074imestamp":"t"}"#, Segment(.track))
        #expect(translated.writeKey == "secret" && translated.lines == [#"{"\u0074ype":"page","\u0074imestamp":"t",\#(now)}"#])
        // The envelope is written by programs, which escape no letters.
        #expect(translate(#"{"\u0062atch":[{}]}"#, Segment(.batch)).refusal == "19: expected a list named batch")
    }

    @Test("of a call keeps a type that is not a text, and gets one only if it has none")
    func types() {
        for type in ["7", "\"\"", "\"unknown\"", "[]", "false"] {
            let translated = translate("{\"type\":\(type),\"timestamp\":\"t\"}", Segment(.page))
            #expect(translated.lines == ["{\"type\":\(type),\"timestamp\":\"t\",\(now)}"])
        }
        #expect(translate("{\"batch\":[{\"timestamp\":\"t\"}]}", Segment(.batch)).lines == ["{\"timestamp\":\"t\",\(now)}"])
    }

    @Test("loses a write key of any type, and only a text is used as the key")
    func writeKeys() {
        for (key, text) in [("7", nil), ("null", nil), ("{\"a\":1}", nil), ("\"\"", ""), (#""a\"b""#, "a\"b")] as [(String, String?)] {
            let translated = translate("{\"writeKey\":\(key),\"timestamp\":\"t\"}", Segment(.track))
            #expect(translated.writeKey == text && translated.lines == ["{\"timestamp\":\"t\",\"type\":\"track\",\(now)}"], "\(key)")
        }
        let batch = translate(#"{"writeKey":"first","batch":[{"timestamp":"t","writeKey":"own"}],"writeKey":"last"}"#, Segment(.batch))
        #expect(batch.writeKey == "last" && batch.lines == ["{\"timestamp\":\"t\",\(now)}"])
    }

    @Test("keeps numbers of any length, escapes and unknown members byte for byte")
    func bytes() {
        let digits = String(repeating: "9", count: 400)
        let rest = #","timestamp":"t","n":\#(digits).5e-400,"é":"\ud83d\uDE97\/","":{"":[ ]} "#
        #expect(translate("{\"type\":\"track\"\(rest)}", Segment(.track)).lines == ["{\"type\":\"track\"\(rest.dropLast()),\(now)}"])
    }

    @Test("is counted against the limit of events even if it is refused, and the rest of the batch is refused")
    func limit() {
        let limits = TranslationLimits(events: 2)
        let translated = translate("{\"batch\":[7,{},{}]}", Segment(.batch), limits: limits)
        #expect(translated.results.count == 2 && translated.lines.count == 1)
        #expect(translated.refusal == "15: the request has more than 2 events; send fewer at a time")
    }

    @Test("is refused alone if its edits make it larger than a line may be")
    func edited() {
        let limits = TranslationLimits(line: 80)
        let body = #"{"batch":[{"timestamp":"t"},{"timestamp":"t","pad":"0123456789012345678901234567"},{"timestamp":"t"}]}"#
        let translated = translate(body, Segment(.batch), limits: limits)
        #expect(translated.lines.count == 2 && translated.refusal == nil)
        #expect(translated.results[1] == "28: the event is larger than 80 bytes")
    }
}

@Suite("An event of the router's own dialect")
struct StampTests {
    @Test("gets the time of receipt and the address only if it lacks them and they are configured")
    func stamps() {
        for (event, line) in [
            ("{}", "{\(now),\"context\":{\"ip\":\"::1\"}}"),
            ("{ }", "{\(now),\"context\":{\"ip\":\"::1\"} }"),
            ("{\"receivedAt\":null}", "{\"receivedAt\":null,\"context\":{\"ip\":\"::1\"}}"),
            ("{\"context\":null}", "{\"context\":{\"ip\":\"::1\"},\(now)}"),
            ("{\"context\":{ }}", "{\"context\":{\"ip\":\"::1\" },\(now)}"),
            ("{\"context\":[]}", "{\"context\":[],\(now)}"), ("{\"context\":\"x\"}", "{\"context\":\"x\",\(now)}"),
            ("{\"context\":{\"\\u0069p\":7}}", "{\"context\":{\"\\u0069p\":7},\(now)}"),
            ("{\"writeKey\":\"k\",\"sentAt\":\"x\"}", "{\"writeKey\":\"k\",\"sentAt\":\"x\",\(now),\"context\":{\"ip\":\"::1\"}}"),
        ] {
            let translated = translate(event, Native(addsReceivedAt: true), ip: "::1")
            #expect(translated.lines.map { $0.filter { $0 != " " } } == [line.filter { $0 != " " }], "\(event)")
            #expect(translated.isEveryLineAnEvent)
            #expect(translate(event, Native()).lines == [event])
        }
        #expect(translate("[{},7,{\"a\":NaN}]", Native(addsReceivedAt: true)).lines == ["{\(now)}", "{\"a\":\"NaN\",\(now)}"])
        #expect(translate("{}", Native(), ip: "a\"b").lines == [#"{"context":{"ip":"a\"b"}}"#])
    }
}
