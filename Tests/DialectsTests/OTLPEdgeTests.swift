// Tests numbers, texts, attributes and groups of OTLP at their limits, in both encodings.

import Dialects
import Events
import Testing

/// Writes protocol buffers.
private enum Wire {
    static func varint(_ value: UInt64) -> [UInt8] {
        var (bytes, rest): ([UInt8], UInt64) = ([], value)
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
    static func number(_ field: UInt64, _ value: UInt64) -> [UInt8] { varint(field << 3) + varint(value) }
    static func fixed(_ field: UInt64, _ value: UInt64) -> [UInt8] {
        varint(field << 3 | 1) + withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
    static func bytes(_ field: UInt64, _ bytes: [UInt8]) -> [UInt8] { varint(field << 3 | 2) + varint(UInt64(bytes.count)) + bytes }
    static func text(_ field: UInt64, _ text: String) -> [UInt8] { bytes(field, Array(text.utf8)) }
    static func pair(_ key: String, _ value: [UInt8]) -> [UInt8] { text(1, key) + bytes(2, value) }
    static func group(_ records: [[UInt8]], resource: [UInt8]? = nil) -> [UInt8] {
        bytes(1, (resource.map { bytes(1, $0) } ?? []) + bytes(2, records.flatMap { bytes(2, $0) }))
    }
}

private func json(_ records: String...) -> Translated {
    translate("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[\(records.joined(separator: ","))]}]}]}", OTLPLogs(.json))
}

private func binary(_ records: [UInt8]...) -> Translated { translate(Wire.group(records), OTLPLogs(.protobuf)) }

private let receipt = "2026-11-21T06:00:00.000Z"

@Suite("A log record")
struct OTLPEdgeTests {
    @Test("keeps integers of 64 bits exactly, and greater ones refuse the record")
    func integers() {
        for number in [Int64.min, -1, 0, 9_007_199_254_740_993, Int64.max] {
            let text = "\"body\":\(number),"
            #expect(json("{\"body\":{\"intValue\":\"\(number)\"}}").lines.first?.contains(text) == true)
            #expect(json("{\"body\":{\"intValue\":\(number)}}").lines.first?.contains(text) == true)
            let wire = binary(Wire.bytes(5, Wire.number(3, UInt64(bitPattern: number))))
            #expect(wire.lines.first?.contains(text) == true, "\(number)")
        }
        for number in [
            "9223372036854775808", "-9223372036854775809", "1.0", "1e3", "", "true", "12345678901234567890123456789012345678901",
        ] {
            #expect(
                json("{\"body\":{\"intValue\":\"\(number)\"}}").results.map { $0.hasSuffix("intValue must be an integer of 64 bits") } == [
                    true
                ])
        }
    }

    @Test("has the time of its event, else that of its observation, else that of its receipt, and 0 or a time too great counts as none")
    func times() {
        let second: UInt64 = 1_544_712_660_000_000_000
        let far = UInt64(Int64.max) + 1
        for (time, observed, shown) in [
            (second, 0, "2018-12-13T14:51:00.000Z"), (0, second, "2018-12-13T14:51:00.000Z"), (0, 0, receipt),
            (far, second, "2018-12-13T14:51:00.000Z"), (.max, far, receipt), (UInt64(Int64.max), 0, "2262-04-11T23:47:16.854775807Z"),
        ] as [(UInt64, UInt64, String)] {
            let text = json("{\"timeUnixNano\":\"\(time)\",\"observedTimeUnixNano\":\(observed)}")
            let wire = binary(Wire.fixed(1, time) + Wire.fixed(11, observed))
            #expect(text.lines == wire.lines && wire.lines.first?.contains("\"timestamp\":\"\(shown)\"") == true, "\(wire.results)")
            #expect(wire.lines.first?.contains("\"timeUnixNano\":\"\(time)\"") == (time != 0))
        }
        for time in ["18446744073709551616", "-1", "1.5", "soon"] {
            #expect(
                json("{\"timeUnixNano\":\"\(time)\"}").results.map { $0.hasSuffix("timeUnixNano must be an integer of 64 bits") } == [true])
        }
    }

    @Test("has doubles that are read back as the same double, also if they are written as long texts")
    func doubles() {
        for (value, text) in [
            (0.1, "0.1"), (-0.0, "-0.0"), (.leastNonzeroMagnitude, "5e-324"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
            (1e21, "1e+21"),
            (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""), (.nan, "\"NaN\""),
        ] as [(Double, String)] {
            let wire = binary(Wire.bytes(5, Wire.fixed(4, value.bitPattern)))
            #expect(wire.lines.first?.contains("\"body\":\(text),") == true && wire.isEveryLineAnEvent, "\(wire.results)")
        }
        let long = "1" + String(repeating: "0", count: 80) + "e-80"
        #expect(json("{\"body\":{\"doubleValue\":\"\(long)\"}}").lines.first?.contains("\"body\":1.0,") == true)
        #expect(json("{\"body\":{\"doubleValue\":\(long)}}").lines.first?.contains("\"body\":\(long),") == true)
        for value in ["true", "[]", "\"\"", "\"1,5\"", "{}"] {
            #expect(json("{\"body\":{\"doubleValue\":\(value)}}").results.map { $0.hasSuffix("doubleValue must be a number") } == [true])
        }
    }

    @Test("has the value that was set last if several are set, and null if none or an unknown one is set")
    func choices() {
        let texts = ["{\"stringValue\":\"a\",\"intValue\":1}", "{\"intValue\":null,\"boolValue\":true}", "{}", "{\"newValue\":7}", "null"]
        let wires = [
            Wire.text(1, "a") + Wire.number(3, 1), Wire.number(2, 1), [], Wire.number(9, 7), [],
        ]
        for (index, shown) in ["1", "true", "null", "null", "null"].enumerated() {
            let attribute = json("{\"attributes\":[{\"key\":\"k\",\"value\":\(texts[index])}]}")
            #expect(attribute.lines.first?.contains("\"properties\":{\"k\":\(shown)}") == true, "\(texts[index])")
            let wire = binary(Wire.bytes(6, Wire.pair("k", wires[index])))
            #expect(wire.lines.first?.contains("\"properties\":{\"k\":\(shown)}") == true, "\(wires[index])")
        }
        #expect(
            json("{\"attributes\":[{\"key\":\"k\"},{\"value\":{\"intValue\":1}},{}]}").lines.first?.contains(
                "{\"k\":null,\"\":1,\"\":null}") == true)
    }

    @Test("takes its ids only from texts among its own attributes, and user.id counts before enduser.id in any order")
    func ids() {
        func attribute(_ key: String, _ value: String) -> String { "{\"key\":\"\(key)\",\"value\":\(value)}" }
        let user = attribute("user.id", "{\"stringValue\":\"u\"}")
        let end = attribute("enduser.id", "{\"stringValue\":\"e\"}")
        for list in ["\(user),\(end)", "\(end),\(user)"] {
            #expect(json("{\"attributes\":[\(list)]}").lines.first?.hasPrefix("{\"type\":\"log\",\"userId\":\"u\",\"timestamp\"") == true)
        }
        #expect(json("{\"attributes\":[\(end)]}").lines.first?.contains("\"userId\":\"e\"") == true)
        for value in ["{\"intValue\":1}", "{\"stringValue\":\"\"}", "{\"bytesValue\":\"AA==\"}", "null", "{}"] {
            let line = json("{\"attributes\":[\(attribute("user.id", value)),\(attribute("event.name", value))]}").lines.first
            #expect(line?.hasPrefix("{\"type\":\"log\",\"timestamp\"") == true, "\(value)")
        }
        let nested = attribute("a", "{\"kvlistValue\":{\"values\":[\(user)]}}")
        #expect(json("{\"attributes\":[\(nested)]}").lines.first?.contains("userId") == false)
        let wire = binary(Wire.bytes(6, Wire.pair("a", Wire.bytes(6, Wire.bytes(1, Wire.pair("user.id", Wire.text(1, "u")))))))
        #expect(
            wire.lines.first?.contains("\"properties\":{\"a\":{\"user.id\":\"u\"}}") == true
                && wire.lines.first?.contains("userId") == false)
    }

    @Test("has texts with their escapes as they were written, and with U+FFFD for bytes that are not UTF-8")
    func texts() {
        let escaped = json(#"{"body":{"stringValue":"a\u0000\ud800\"\/é"},"severityText":"\n"}"#)
        #expect(escaped.lines.first?.contains(#""body":"a\u0000\ud800\"\/é","#) == true)
        #expect(escaped.lines.first?.contains(#""severityText":"\n""#) == true)
        let wire = binary(Wire.bytes(5, Wire.bytes(1, [0, 0x22, 0x5c, 0x7f, 0xff, 0xc3])) + Wire.bytes(3, [0xed, 0xa0, 0x80]))
        #expect(wire.lines.first?.contains(#""body":"\u0000\"\\\#u{7f}\#u{fffd}\#u{fffd}","#) == true, "\(wire.results)")
        #expect(wire.lines.first?.contains("\"severityText\":\"\u{fffd}\u{fffd}\u{fffd}\"") == true && wire.isEveryLineAnEvent)
        for (count, text) in [(0, "\"\""), (1, "\"AA==\""), (2, "\"AAE=\""), (3, "\"AAEC\""), (4, "\"AAECAw==\"")] {
            let bytes = (0..<count).map { UInt8($0) }
            #expect(binary(Wire.bytes(5, Wire.bytes(7, bytes))).lines.first?.contains("\"body\":{\"bytesValue\":\(text)},") == true)
        }
    }

    @Test("of a group has the resource and the scope of its own group only")
    func groups() {
        func group(_ resource: String, _ scope: String) -> String {
            "{\"resource\":\(resource),\"scopeLogs\":[{\"scope\":\(scope),\"logRecords\":[{}]},{\"logRecords\":[{}]}]}"
        }
        let host = #"{"attributes":[{"key":"host","value":{"stringValue":"a"}}]}"#
        let text = translate("{\"resourceLogs\":[\(group(host, "{\"name\":\"s\"}")),\(group("null", "{}"))]}", OTLPLogs(.json))
        let tails = text.lines.map { $0.components(after: "\"context\":") }
        let resource = "\"resource\":{\"attributes\":{\"host\":\"a\"}}"
        #expect(
            tails == [
                "{\"otlp\":{\(resource),\"scope\":{\"name\":\"s\"}}}}", "{\"otlp\":{\(resource)}}}", "{\"otlp\":{}}}", "{\"otlp\":{}}}",
            ])
    }

    @Test("of a resource with entities is an event wherever the fields of the resource stand")
    func entities() {
        let entity = { (type: String) in Wire.bytes(3, Wire.text(2, type)) }
        let dropped = Wire.number(2, 4)
        let attribute = Wire.bytes(1, Wire.pair("k", Wire.number(3, 1)))
        let unknown = Wire.number(15, 1)
        for fields in [
            attribute + dropped + entity("a") + entity("b"), entity("a") + dropped + entity("b") + attribute,
            entity("a") + unknown + entity("b") + attribute + dropped, entity("a") + entity("b") + dropped + attribute,
        ] {
            let translated = translate(Wire.group([[]], resource: fields), OTLPLogs(.protobuf))
            let resource =
                #""resource":{"attributes":{"k":1},"droppedAttributesCount":4,"entityRefs":[{"type":"a"},{"type":"b"}]}"#
            #expect(translated.lines.first?.contains(resource) == true && translated.isEveryLineAnEvent, "\(translated.results)")
        }
    }

    @Test("is refused alone if its value has the wrong type, and the whole rest if a group has")
    func wrongTypes() {
        let wire = binary(Wire.bytes(5, Wire.number(1, 7)), [], Wire.bytes(6, Wire.number(2, 7)))
        #expect(wire.lines.count == 1 && wire.refusal == nil)
        #expect(wire.results[0].hasSuffix("a value has the wrong type for its field"))
        #expect(wire.results[2].hasSuffix("a field has the wrong type for its number"))
        // A field of a record with another type than expected is unknown, as in the libraries.
        #expect(binary(Wire.number(3, 7) + Wire.text(1, "x")).lines.count == 1)
        for (body, refusal) in [
            ("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":{}}]}]}", "45: expected a list"),
            ("{\"resourceLogs\":[{\"scopeLogs\":[7]}]}", "31: expected an object"),
            (
                "{\"resourceLogs\":[{\"scopeLogs\":[{\"scope\":7,\"logRecords\":[{}]}]}]}",
                "40: an event must be a JSON object, found 0x37 '7'"
            ),
            (
                "{\"resourceLogs\":[{\"resource\":{\"attributes\":7},\"scopeLogs\":[]}]}",
                "29: attributes must be a list of keys and values"
            ),
            ("{\"resourceLogs\":[{\"resource\":nope,\"scopeLogs\":[]}]}", "29: an event must be a JSON object, found 0x6e 'n'"),
            ("{\"resourceLogs\":nope}", "16: expected a list"),
        ] {
            let translated = translate(body, OTLPLogs(.json))
            #expect(translated.refusal == refusal && translated.lines.isEmpty, "\(body)")
        }
    }

    @Test("beyond the limit of events refuses the rest, and beyond the limit of output is refused alone")
    func limits() {
        let body = "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{},{},{}]}]}]}"
        let few = translate(body, OTLPLogs(.json), limits: TranslationLimits(events: 2))
        #expect(few.lines.count == 2 && few.refusal == "52: the request has more than 2 events; send fewer at a time")
        let wire = translate(Wire.group([[], [], []]), OTLPLogs(.protobuf), limits: TranslationLimits(events: 2))
        #expect(wire.lines.count == 2 && wire.refusal?.hasSuffix("the request has more than 2 events; send fewer at a time") == true)
        let size = few.lines[0].utf8.count
        for dialect in [OTLPLogs(.json), OTLPLogs(.protobuf)] {
            let bytes = dialect.encoding == .json ? Array(body.utf8) : Wire.group([[], [], []])
            let output = translate(bytes, dialect, limits: TranslationLimits(output: 2 * size + 2))
            #expect(output.lines.count == 2 && output.results.count == 3 && output.refusal == nil)
            let line = translate(bytes, dialect, limits: TranslationLimits(line: size - 1))
            #expect(line.lines.isEmpty && line.results.allSatisfy { $0.hasSuffix("the event is larger than \(size - 1) bytes") })
        }
    }
}

extension String {
    /// Returns the text after the first occurrence of the words.
    fileprivate func components(after words: String) -> String {
        guard let range = firstRange(of: words) else { return "" }
        return String(self[range.upperBound...])
    }
}
