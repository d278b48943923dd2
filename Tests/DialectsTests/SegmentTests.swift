import Dialects
import Events
import Testing

private let now = "\"receivedAt\":\"2026-11-21T06:00:00.000Z\""

@Suite struct SegmentBodies {
    @Test(arguments: ["track", "identify", "page", "screen", "group", "alias"])
    func aSingleCallTakesItsTypeFromThePath(_ call: String) throws {
        let dialect = Segment(try #require(Segment.Call(rawValue: call)))
        let stamps = "\"timestamp\":\"2026-11-21T06:00:00.000Z\",\(now)"
        #expect(translate("{\"userId\":\"u\"}", dialect).lines == ["{\"userId\":\"u\",\"type\":\"\(call)\",\(stamps)}"])
        #expect(translate("{}\n", dialect).lines == ["{\"type\":\"\(call)\",\(stamps)}"])
        #expect(translate("{ \"type\": null }", dialect).lines == ["{ \"type\": \"\(call)\",\(stamps)}"])
        #expect(translate("{\"type\":\"track\"}", dialect).lines == ["{\"type\":\"track\",\(stamps)}"])
    }

    @Test(arguments: [
        // The form of Segment. The client sent it a minute after its call, and its clock is an hour slow.
        (
            "{\"timestamp\":\"2026-11-21T04:58:00.000Z\",\"sentAt\":\"2026-11-21T04:59:00.000Z\"}",
            "{\"timestamp\":\"2026-11-21T05:59:00.000Z\",\"originalTimestamp\":\"2026-11-21T04:58:00.000Z\",\(now)}"
        ),
        // The form of RudderStack, with an offset and microseconds.
        (
            "{\"sentAt\":\"2026-11-21T07:00:00.000001+01:00\",\"originalTimestamp\":\"2026-11-21T06:59:59.000000+01:00\"}",
            "{\"originalTimestamp\":\"2026-11-21T06:59:59.000000+01:00\",\"timestamp\":\"2026-11-21T05:59:58.999999Z\",\(now)}"
        ),
        // The clock was corrected before.
        (
            "{\"timestamp\":\"a\",\"originalTimestamp\":\"b\",\"sentAt\":\"2026-11-21T04:59:00Z\"}",
            "{\"timestamp\":\"a\",\"originalTimestamp\":\"b\",\"sentAt\":\"2026-11-21T04:59:00Z\",\(now)}"
        ),
        (
            "{\"timestamp\":\"2026-11-21T05:59:00Z\",\"originalTimestamp\":\"2026-11-21T04:58:00Z\",\"sentAt\":\"2026-11-21T04:59:00Z\"}",
            "{\"timestamp\":\"2026-11-21T05:59:00Z\",\"originalTimestamp\":\"2026-11-21T04:58:00Z\",\"sentAt\":\"2026-11-21T04:59:00Z\",\(now)}"
        ),
        ("{\"timestamp\":\"2026-11-21T04:58:00Z\"}", "{\"timestamp\":\"2026-11-21T04:58:00Z\",\(now)}"),
        (
            "{\"timestamp\":\"soon\",\"sentAt\":\"2026-11-21T04:59:00Z\"}",
            "{\"timestamp\":\"soon\",\"sentAt\":\"2026-11-21T04:59:00Z\",\(now)}"
        ),
        ("{\"originalTimestamp\":\"b\"}", "{\"originalTimestamp\":\"b\",\"timestamp\":\"b\",\(now)}"),
        (
            "{\"timestamp\":null,\"receivedAt\":\"x\"}",
            "{\"timestamp\":\"2026-11-21T06:00:00.000Z\",\"receivedAt\":\"2026-11-21T06:00:00.000Z\"}"
        ),
    ])
    func theClientsClockIsCorrectedOnce(_ event: String, _ line: String) {
        let typed = { (text: String) in "{\"type\":\"track\"," + text.dropFirst() }
        let translated = translate("{\"batch\":[\(typed(event))]}", Segment(.batch))
        #expect(translated.lines == [typed(line)])
        #expect(translated.isEveryLineAnEvent)
    }

    @Test func theBatchsSentAtServesEventsWithoutTheirOwn() {
        let translated = translate(
            "{\"batch\":[{\"timestamp\":\"2026-11-21T04:58:00Z\"}],\"sentAt\":\"2026-11-21T04:59:00Z\"}", Segment(.import))
        #expect(translated.lines == ["{\"timestamp\":\"2026-11-21T05:59:00.000Z\",\"originalTimestamp\":\"2026-11-21T04:58:00Z\",\(now)}"])
    }

    @Test func theWriteKeyIsTakenOutWhereverItStands() {
        let batch = translate(
            "{\"batch\":[{\"writeKey\":\"k1\",\"timestamp\":\"t\"},{\"timestamp\":\"t\",\"writeKey\":\"k2\"}],\"writeKey\":\"k\\u0033\"}",
            Segment(.batch))
        #expect(batch.writeKey == "k3")
        #expect(batch.lines == Array(repeating: "{\"timestamp\":\"t\",\(now)}", count: 2))
        let single = translate("{ \"a\":1 , \"timestamp\":\"t\" , \"writeKey\":\"k1\" }", Segment(.track))
        #expect(single.writeKey == "k1")
        #expect(single.lines == ["{ \"a\":1 , \"timestamp\":\"t\",\"type\":\"track\",\(now)}"])
        #expect(
            translate("{\"writeKey\":\"k1\"}", Segment(.track)).lines == [
                "{\"type\":\"track\",\"timestamp\":\"2026-11-21T06:00:00.000Z\",\(now)}"
            ])
    }

    @Test func anEscapeThatIsCutOffInTheBatchsWriteKeyIsNotDecoded() {
        for key in ["\\u", "\\uf", "\\uffe", "k\\u00", "\\ud800\\u", "\\u00zz"] {
            let batch = translate("{\"batch\":[{\"timestamp\":\"t\"}],\"writeKey\":\"\(key)\"fff", Segment(.batch))
            #expect(batch.writeKey == key)
            #expect(batch.lines == [] && batch.refusal != nil)
        }
    }

    @Test func whatABatchHasInCommonGoesToEventsThatLackIt() {
        let body = """
            {"context":{"library":{"name":"x"},"ip":"1.2.3.4"},"integrations":{"All":true},"batch":[
            {"timestamp":"t"},{"timestamp":"t","context":{},"integrations":null},
            {"timestamp":"t","context":{"\\u0069p":"9.9.9.9"},"integrations":{"All":false}},{"timestamp":"t","context":7}]}
            """
        let translated = translate(body, Segment(.batch), ip: "5.6.7.8")
        let common = "{\"library\":{\"name\":\"x\"},\"ip\":\"1.2.3.4\"}"
        #expect(
            translated.results == [
                "{\"timestamp\":\"t\",\(now),\"integrations\":{\"All\":true},\"context\":\(common)}",
                "{\"timestamp\":\"t\",\"context\":\(common),\"integrations\":{\"All\":true},\(now)}",
                "{\"timestamp\":\"t\",\"context\":{\"\\u0069p\":\"9.9.9.9\",\"library\":{\"name\":\"x\"}},\"integrations\":{\"All\":false},\(now)}",
                "238: context and integrations must be objects",
            ])
    }

    @Test func theAddressIsAddedOnlyIfAskedForAndMissing() {
        let body =
            "{\"batch\":[{\"timestamp\":\"t\"},{\"timestamp\":\"t\",\"context\":{\"a\":1}},{\"timestamp\":\"t\",\"context\":{\"ip\":null}}]}"
        #expect(
            translate(body, Segment(.batch), ip: "::1").lines == [
                "{\"timestamp\":\"t\",\(now),\"context\":{\"ip\":\"::1\"}}",
                "{\"timestamp\":\"t\",\"context\":{\"a\":1,\"ip\":\"::1\"},\(now)}",
                "{\"timestamp\":\"t\",\"context\":{\"ip\":null},\(now)}",
            ])
        #expect(translate(body, Segment(.batch)).lines.first == "{\"timestamp\":\"t\",\(now)}")
    }

    @Test func oneBadEventNeverCostsItsNeighbours() {
        let body = "{\"batch\":[{\"timestamp\":\"t\"},{\"a\":tru},7,{\"timestamp\":\"t\",\"n\":NaN}],\"writeKey\":\"k\"}"
        let translated = translate(body, Segment(.batch))
        #expect(
            translated.results == [
                "{\"timestamp\":\"t\",\(now)}", "36: expected true, false or null, found 0x7d '}'",
                "38: an event must be a JSON object, found 0x37 '7'", "{\"timestamp\":\"t\",\"n\":\"NaN\",\(now)}",
            ])
        #expect(translated.writeKey == "k")
        #expect(translated.refusal == nil)
    }

    @Test(arguments: [
        ("", "0: expected an object"), ("[]", "0: expected an object"), ("{}", "2: expected a list named batch"),
        ("{\"batch\":{}}", "9: batch must be a list"), ("{\"batch\":[{}", "12: the body ends inside the event"),
        ("{\"batch\":[{}]", "13: the body ends inside the event"),
        ("{\"batch\":[{}]}{", "14: expected the end of the body after the batch"),
        ("{\"context\":{\"a\":tru},\"batch\":[{}]}", "19: expected true, false or null, found 0x7d '}'"),
        ("{\"batch\":[{}],\"context\":[]}", "24: an event must be a JSON object, found 0x5b '['"),
    ])
    func aBrokenEnvelopeIsRefusedWithItsPlace(_ body: String, _ refusal: String) {
        #expect(translate(body, Segment(.batch)).refusal == refusal)
    }

    @Test(arguments: ["segment-analytics-python.json", "rudder-sdk-python.json"])
    func whatThePythonClientsSendComesOutWhole(_ name: String) throws {
        let translated = translate(try sample(name), Segment(.batch))
        #expect(translated.refusal == nil)
        try #require(translated.lines.count == 6)
        #expect(translated.isEveryLineAnEvent)
        #expect(translated.writeKey == (name.hasPrefix("segment") ? "wk-secret" : nil))
        let order = translated.lines[1]
        for text in [
            "\"id\": 9007199254740993", "\"big\": 170141183460469231731687303715884105728", "\"ratio\": \"NaN\"",
            "\"least\": \"-Infinity\"",
            "\\ud83d\\ude97 \\u0000 \\\"q\\\"", "\"lone\": \"\\ud800\"", "\"originalTimestamp\":\"2026-11-21T05:49:23.123",
        ] { #expect(order.contains(text)) }
        #expect(!translated.lines.joined().contains("wk-secret"))
    }

    /// The bodies of analytics.js, analytics-node and the JavaScript client of RudderStack, as their sources write them.
    @Test(arguments: [
        "{\"batch\":[{\"timestamp\":\"2026-11-21T05:59:59.000Z\",\"integrations\":{},\"type\":\"track\",\"event\":\"A\",\"properties\":{},\"context\":{\"page\":{\"path\":\"/\"}},\"messageId\":\"ajs-next-1\",\"anonymousId\":\"a\",\"writeKey\":\"k\",\"userId\":null,\"sentAt\":\"2026-11-21T06:00:00.000Z\",\"_metadata\":{\"bundled\":[],\"unbundled\":[]}}],\"sentAt\":\"2026-11-21T06:00:00.000Z\",\"writeKey\":\"k\"}",
        "{\"batch\":[{\"userId\":\"u\",\"event\":\"A\",\"type\":\"track\",\"properties\":{},\"context\":{\"library\":{\"name\":\"@segment/analytics-node\",\"version\":\"2.1.2\"}},\"timestamp\":\"2026-11-21T05:59:59.000Z\",\"messageId\":\"node-next-1\",\"integrations\":{},\"_metadata\":{\"nodeVersion\":\"20\"}}],\"sentAt\":\"2026-11-21T06:00:00.000Z\",\"writeKey\":\"k\"}",
        "{\"batch\":[{\"properties\":{},\"event\":\"A\",\"type\":\"track\",\"channel\":\"web\",\"context\":{},\"originalTimestamp\":\"2026-11-21T05:59:59.000Z\",\"integrations\":{\"All\":true},\"messageId\":\"m\",\"userId\":\"\",\"anonymousId\":\"a\",\"sentAt\":\"2026-11-21T06:00:00.000Z\"}],\"sentAt\":\"2026-11-21T06:00:00.000Z\",\"writeKey\":\"k\"}",
    ])
    func theJavaScriptClientsAreUnderstood(_ body: String) throws {
        let translated = translate(body, Segment(.batch))
        #expect(translated.lines.count == 1)
        #expect(translated.writeKey == "k")
        try #require(translated.lines.count == 1)
        #expect(translated.lines[0].contains("\"timestamp\":\"2026-11-21T05:59:59.000Z\""))
        #expect(translated.lines[0].contains("\"originalTimestamp\":\"2026-11-21T05:59:59.000Z\""))
        #expect(!translated.lines[0].contains("writeKey") && !translated.lines[0].contains("sentAt"))
        #expect(translated.isEveryLineAnEvent)
    }

    @Test func whatEventsHaveInCommonCannotFillTheMemory() {
        let common = String(repeating: "x", count: 10_000)
        let events = Array(repeating: "{}", count: 1000).joined(separator: ",")
        let limits = TranslationLimits(output: 100_000)
        let translated = translate("{\"context\":{\"a\":\"\(common)\"},\"batch\":[\(events)]}", Segment(.batch), limits: limits)
        #expect(translated.results.count == 1000)
        #expect(translated.lines.count == 9)
    }
}
