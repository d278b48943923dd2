import Dialects
import Events
import Testing

@Suite struct OTLPBodies {
    @Test(arguments: [("opentelemetry-python.pb", OTLPLogs.Encoding.protobuf), ("opentelemetry-json.json", .json)])
    func bothEncodingsBecomeTheSameEvents(_ name: String, _ encoding: OTLPLogs.Encoding) throws {
        let translated = translate(try sample(name), OTLPLogs(encoding))
        let resource = "\"resource\":{\"attributes\":{\"service.name\":\"shop\",\"service.version\":\"1.2.3\",\"host.cores\":4}}"
        let scope = "\"scope\":{\"name\":\"shop.orders\",\"version\":\"0.1\",\"schemaUrl\":\"https://opentelemetry.io/schemas/1.28.0\"}"
        let now = "\"receivedAt\":\"2026-11-21T06:00:00.000Z\""
        #expect(translated.refusal == nil)
        #expect(translated.isEveryLineAnEvent)
        try #require(translated.results.count == 4)
        #expect(
            translated.results[0]
                == "{\"type\":\"track\",\"event\":\"order.completed\",\"userId\":\"u-1\",\"timestamp\":\"2018-12-13T14:51:00.300000123Z\",\(now),"
                + "\"properties\":{\"user.id\":\"u-1\",\"n\":9007199254740993,\"neg\":-1,\"ok\":true,\"ratio\":0.1,\"nan\":\"NaN\","
                + "\"inf\":\"-Infinity\",\"list\":[\"a\",\"b\"],\"nums\":[1,2],\"raw\":{\"bytesValue\":\"AP8=\"},\"one\":1.0},\"body\":\"order taken \\\"x\\\"\\n\","
                + "\"context\":{\"otlp\":{\"timeUnixNano\":\"1544712660300000123\",\"observedTimeUnixNano\":\"1544712661000000000\","
                + "\"severityNumber\":9,\"severityText\":\"INFO\",\(resource),\(scope)}}}")
        #expect(
            translated.results[1]
                == "{\"type\":\"track\",\"event\":\"legacy\",\"timestamp\":\"2018-12-13T14:51:01.000Z\",\(now),\"properties\":{\"event.name\":\"legacy\"},"
                + "\"body\":{\"code\":7,\"nested\":{\"list\":[1,\"x\",null,{\"deep\":true}]}},"
                + "\"context\":{\"otlp\":{\"observedTimeUnixNano\":\"1544712661000000000\",\"severityNumber\":17,\(resource),\(scope)}}}")
        #expect(
            translated.results[2].hasPrefix(
                "{\"type\":\"log\",\"timestamp\":\"1970-01-01T00:00:00.000000001Z\",\(now),\"properties\":{},\"body\":null,"))
        #expect(
            translated.results[3].contains(
                "\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\",\"flags\":1,\"droppedAttributesCount\":2,"
                    + "\(resource),\"scope\":{\"name\":\"other\"}"))
    }

    /// Returns a length-delimited field.
    private func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        precondition(bytes.count < 128 * 128)
        let count = bytes.count < 128 ? [UInt8(bytes.count)] : [UInt8(bytes.count & 127) | 128, UInt8(bytes.count >> 7)]
        return [number << 3 | 2] + count + bytes
    }

    private func request(_ records: [[UInt8]]) -> [UInt8] { field(1, field(2, records.flatMap { field(2, $0) })) }

    @Test func aBrokenRecordIsRefusedAlone() throws {
        let good = field(3, Array("INFO".utf8))
        let bad: [UInt8] = [3 << 3 | 2, 100, 1]
        let translated = translate(request([good, bad, good]), OTLPLogs(.protobuf))
        #expect(translated.lines.count == 2)
        try #require(translated.results.count == 3)
        #expect(translated.results[1] == "15: a field is longer than its message")
        #expect(translated.refusal == nil)
    }

    @Test(
        arguments: [
            ([0x0a, 0x05, 0x12], "1: a field is longer than its message"),
            ([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "1: a field is longer than its message"),
            ([0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0], "1: a number has more than 64 bits"),
            ([0x08, 0x80], "1: the message ends inside a number"), ([0x09, 1, 2], "1: the message ends inside a field"),
            ([0x0f], "0: a field has an unknown type"), ([0x02, 0], "0: a field has an invalid number"),
            ([0x13, 0x08, 1], "3: a group does not end"), ([0x14], "0: a group ends without a beginning"),
            ([0x08, 1], "0: a field has the wrong type for its number"),
        ] as [([UInt8], String)])
    func aHostileFrameIsRefusedWithItsPlace(_ body: [UInt8], _ refusal: String) {
        #expect(translate(body, OTLPLogs(.protobuf)).refusal == refusal)
    }

    @Test func unknownFieldsAndGroupsArePassedOver() {
        let unknown: [UInt8] = [0x78, 1] + field(14, [1, 2]) + [0x73, 0x78, 1, 0x74]
        let translated = translate(unknown + request([unknown + field(12, Array("e".utf8)) + unknown]), OTLPLogs(.protobuf))
        #expect(translated.refusal == nil)
        #expect(translated.lines.first?.contains("\"event\":\"e\"") == true)
    }

    @Test func valuesNestOnlySoDeep() {
        var value = field(1, Array("x".utf8))
        for _ in 0..<31 { value = field(5, field(1, value)) }
        #expect(translate(request([field(5, value)]), OTLPLogs(.protobuf)).lines.count == 1)
        value = field(5, field(1, value))
        let deeper = translate(request([field(5, value)]), OTLPLogs(.protobuf)).results
        #expect(deeper.first?.hasSuffix("a value nests deeper than 32 levels") == true)
        let json = { (n: Int) in
            "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":" + String(repeating: "{\"arrayValue\":{\"values\":[", count: n)
                + String(repeating: "]}}", count: n) + "}]}]}]}"
        }
        #expect(translate(json(32), OTLPLogs(.json)).lines.count == 1)
        #expect(translate(json(33), OTLPLogs(.json)).results == ["46: a value nests deeper than 32 levels"])
    }

    @Test func textThatIsNoUTF8IsReplacedAndKeysCanCarryAnything() {
        let pair = field(1, Array("a\"\n".utf8)) + field(2, field(1, [0x78, 0xff]))
        let translated = translate(request([field(6, pair)]), OTLPLogs(.protobuf))
        #expect(translated.lines.first?.contains("\"properties\":{\"a\\\"\\n\":\"x\u{fffd}\"}") == true)
        #expect(translated.isEveryLineAnEvent)
    }

    @Test func aResourceBehindItsLogsStillDescribesThem() {
        let resource = field(1, field(1, field(1, Array("k".utf8)) + field(2, [0x18, 5])))
        let entity = field(3, field(2, Array("service".utf8)) + field(3, Array("k".utf8)))
        let body = field(1, field(2, field(2, [])) + field(1, Array(resource.dropFirst(2)) + entity))
        let translated = translate(body, OTLPLogs(.protobuf))
        #expect(
            translated.lines.first?.contains(
                "\"resource\":{\"attributes\":{\"k\":5},\"entityRefs\":[{\"type\":\"service\",\"idKeys\":[\"k\"]}]}") == true)
    }

    @Test func lastOfTwoAttributesWinsWhereARuleNamesThem() {
        let pair = { (value: UInt8) in self.field(6, self.field(1, Array("k".utf8)) + self.field(2, [0x18, value])) }
        let translated = translate(request([pair(1) + pair(2)]), OTLPLogs(.protobuf), wanted: [path("properties.k")])
        #expect(translated.lines.first?.contains("\"properties\":{\"k\":2}") == true)
    }

    @Test(arguments: [
        ("{\"timeUnixNano\":1.5}", "timeUnixNano must be an integer of 64 bits"),
        ("{\"body\":\"x\"}", "a value must be an object such as {\"stringValue\":\"…\"}"),
        ("{\"body\":{\"intValue\":\"x\"}}", "intValue must be an integer of 64 bits"),
        ("{\"body\":{\"boolValue\":1}}", "boolValue must be true or false"),
        ("{\"body\":{\"doubleValue\":\"x\"}}", "doubleValue must be a number"),
        ("{\"attributes\":{}}", "attributes must be a list of keys and values"),
        ("{\"severityNumber\":\"LOUD\"}", "severityNumber must be an integer"), ("{\"traceId\":1}", "traceId must be a string"),
        ("{\"body\":tru}", "expected true, false or null, found 0x7d '}'"),
    ])
    func aRecordOfTheWrongFormIsRefusedAlone(_ record: String, _ message: String) throws {
        let translated = translate("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{},\(record),{}]}]}]}", OTLPLogs(.json))
        #expect(translated.lines.count == 2)
        try #require(translated.results.count == 3)
        #expect(translated.results[1].hasSuffix(": " + message))
        #expect(translated.refusal == nil)
    }

    @Test func originalNamesAndNumbersAreReadToo() {
        let record =
            "{\"time_unix_nano\":1544712660300000000,\"severity_number\":\"SEVERITY_NUMBER_WARN2\",\"event_name\":\"e\",\"body\":{\"int_value\":7},\"new\":[{}]}"
        let translated = translate("{\"resource_logs\":[{\"scope_logs\":[{\"log_records\":[\(record)]}]}]}", OTLPLogs(.json))
        #expect(
            translated.lines.first
                == "{\"type\":\"track\",\"event\":\"e\",\"timestamp\":\"2018-12-13T14:51:00.300Z\",\"receivedAt\":\"2026-11-21T06:00:00.000Z\",\"properties\":{},\"body\":7,\"context\":{\"otlp\":{\"timeUnixNano\":\"1544712660300000000\",\"severityNumber\":14}}}"
        )
    }

    @Test(arguments: [
        ("[]", "0: expected an object"), ("{\"resourceLogs\":{}}", "16: expected a list"),
        ("{\"resourceLogs\":[7]}", "17: expected an object"),
        ("{\"resourceLogs\":[]} x", "20: expected the end of the body after the object"),
        ("{\"resourceLogs\":[", "17: the body ends inside the event"),
    ])
    func aBrokenBodyIsRefusedWithItsPlace(_ body: String, _ refusal: String) {
        #expect(translate(body, OTLPLogs(.json)).refusal == refusal)
    }

    @Test func answersAreThoseOfAnOTLPServer() {
        func bytes(_ encoding: OTLPLogs.Encoding, _ write: (OTLPLogs, inout ByteBuffer) -> Void) -> [UInt8] {
            var answer = ByteBuffer()
            write(OTLPLogs(encoding), &answer)
            return Array(answer.bytes)
        }
        #expect(bytes(.protobuf) { $0.success(into: &$1) } == [])
        #expect(bytes(.json) { $0.success(into: &$1) } == Array("{}".utf8))
        #expect(bytes(.protobuf) { $0.success(rejected: 300, message: "no", into: &$1) } == [0x0a, 7, 0x08, 0xac, 2, 0x12, 2, 0x6e, 0x6f])
        #expect(
            bytes(.json) { $0.success(rejected: 2, message: "a\"b", into: &$1) }
                == Array("{\"partialSuccess\":{\"rejectedLogRecords\":\"2\",\"errorMessage\":\"a\\\"b\"}}".utf8))
        #expect(bytes(.protobuf) { $0.failure(code: 3, message: "x", into: &$1) } == [0x08, 3, 0x12, 1, 0x78])
        #expect(bytes(.json) { $0.failure(code: 14, message: "x", into: &$1) } == Array("{\"code\":14,\"message\":\"x\"}".utf8))
    }
}
