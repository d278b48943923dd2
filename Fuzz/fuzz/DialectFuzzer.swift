// Fuzzes request bodies of client libraries. For any body, the scanner accepts each output line as one event, and each event of the body
// has a line or a fault. In the native dialect a valid line comes out byte for byte, if the first line of the body is valid.

import Dialects
import Events

final class DialectFuzzer: Fuzzer {
    private var mutator: Mutator
    private var translator: Translator
    private var translation = Translation()
    private var block = Block()
    private var scanner: Scanner
    private let dialect: any Dialect
    private let plants: Bool
    private let isNative: Bool

    private init(_ dialect: any Dialect, seeds: [[UInt8]], seed: UInt64, plants: Bool) {
        let wanted = ["type", "userId", "timestamp", "a", "k", "properties"].map { Path(keys: [$0]) } + [Path(keys: ["a", "b"])]
        mutator = Mutator(seed: seed, seeds: seeds)
        translator = Translator(wanted: wanted, limits: TranslationLimits(events: 50, line: 5000, output: 20_000, depth: 40))
        scanner = Scanner(PathTrie(wanted), depth: 40)
        self.dialect = dialect
        self.plants = plants
        isNative = dialect is Native
    }

    func next() -> (Comparison, input: [UInt8]) {
        let lines = isNative && mutator.below(2) == 0 ? (0...mutator.below(4)).map { _ in mutator.line() } : []
        let body = lines.isEmpty ? mutator.body() : Array(lines.joined(separator: [0x0a]))
        // The memory has exactly the size of the body, so that the address sanitizer detects a read beyond it.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: body)
        // Nothing may be added to lines that are compared byte for byte.
        let ip = mutator.below(2) == 0 || !lines.isEmpty ? nil : "1.2.3.4"
        let time: Int64 = 1_795_240_800_123_456_789
        translator.translate(UnsafeRawBufferPointer(memory), from: dialect, RequestContext(time: time, ip: ip), into: &translation)
        return (judge(lines, body), body)
    }

    private func judge(_ sent: [[UInt8]], _ body: [UInt8]) -> Comparison {
        block.removeAll()
        block.text.append(contentsOf: translation.lines.bytes)
        block.seal()
        var came: [[UInt8]] = []
        var start: UInt32 = 0
        while Int(start) < block.count {
            guard scanner.scan(block.bytes, start) != nil else { return .unexplained("a line is not an event: \(scanner.fault.message)") }
            came.append(Array(UnsafeBufferPointer(start: block.bytes + Int(start), count: Int(scanner.lineEnd - start))))
            start = scanner.lineEnd + 1
        }
        let isPlanted = plants && body.count % 31 == 30
        if came.count + (isPlanted ? 1 : 0) != translation.lineCount {
            return .unexplained("there are \(came.count) lines instead of \(translation.lineCount)")
        }
        if came.count + translation.faults.count != translation.results.count { return .unexplained("an event has neither line nor fault") }
        for fault in translation.faults where fault.offset > body.count || fault.message.isEmpty {
            return .unexplained("a fault has the offset \(fault.offset), or no message")
        }
        if let first = sent.first, isEvent(first), translation.refusal == nil {
            for line in sent where isEvent(line) && !came.contains(line[...].trimmed) { return .unexplained("a valid line is lost") }
        }
        return came.isEmpty || translation.refusal != nil || !translation.faults.isEmpty ? .invalid : .valid
    }

    private func isEvent(_ line: [UInt8]) -> Bool {
        block.removeAll()
        block.text.append(contentsOf: line.withUnsafeBytes { $0 })
        block.seal()
        return scanner.scan(block.bytes, 0) != nil
    }
}

extension ArraySlice<UInt8> {
    /// The line without a carriage return at its end.
    fileprivate var trimmed: [UInt8] { Array(last == 0x0d ? dropLast() : self) }
}

extension DialectFuzzer {
    static func native(seed: UInt64, plants: Bool) -> DialectFuzzer {
        let bodies = [
            "[{\"a\":1},{\"b\":NaN,\"a\":\"]}\"} , {}]", "{\n\"a\":1,\n\"b\":\"x\\ny\"\n}\n{\"k\":-Infinity}\n",
            "{\"a\":1,\"a\":{\"b\":2,\"b\":3}}",
        ]
        return DialectFuzzer(Native(), seeds: Mutator.events + bodies.map { Array($0.utf8) }, seed: seed, plants: plants)
    }

    static func segment(seed: UInt64, plants: Bool) -> DialectFuzzer {
        let bodies = [
            #"{"batch":[{"type":"track","timestamp":"2026-11-21T05:59:59.123+00:00","context":{"ip":"1.1.1.1"},"properties":{"x":NaN}},{"type":"page","writeKey":"k","sentAt":"2026-11-21T06:00:00Z","originalTimestamp":"2026-11-21T05:00:00Z"}],"sentAt":"2026-11-21T06:00:00.5Z","writeKey":"k"}"#,
            #"{"context":{"library":{"name":"x"},"ip":"2.2.2.2"},"integrations":{"All":true},"batch":[{"type":"track"},{"context":{},"integrations":null},{"context":{"l":1,"\u0069p":3}}]}"#,
            #"{"batch":[ { "writeKey" : "k" , "userId" : "u" , "sentAt":"x" } , {"receivedAt":1,"timestamp":null}]}"#,
        ]
        return DialectFuzzer(Segment(.batch), seeds: bodies.map { Array($0.utf8) }, seed: seed, plants: plants)
    }

    static func json(seed: UInt64, plants: Bool) -> DialectFuzzer {
        let bodies = [
            #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeLogs":[{"scope":{"name":"n","version":"1"},"schemaUrl":"u","logRecords":[{"timeUnixNano":"1544712660300000000","severityNumber":9,"severityText":"Info","body":{"stringValue":"b"},"attributes":[{"key":"k","value":{"kvlistValue":{"values":[{"key":"a","value":{"arrayValue":{"values":[{"intValue":"1"},{"doubleValue":"NaN"},{}]}}}]}}},{"key":"user.id","value":{"stringValue":"u"}}],"traceId":"5b8efff798038103d269b633813fc60c"},{"eventName":"e","flags":1}]}]}]}"#
        ]
        return DialectFuzzer(OTLPLogs(.json), seeds: bodies.map { Array($0.utf8) }, seed: seed, plants: plants)
    }

    static func protobuf(seed: UInt64, plants: Bool) -> DialectFuzzer {
        func field(_ number: UInt8, _ parts: [UInt8]...) -> [UInt8] {
            let bytes = parts.flatMap { $0 }
            return [number << 3 | 2]
                + (bytes.count < 128 ? [UInt8(bytes.count)] : [UInt8(bytes.count & 127) | 128, UInt8(bytes.count >> 7)]) + bytes
        }
        func text(_ number: UInt8, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }
        let list = field(5, field(1, [0x18, 5]), field(1, text(1, "x")), field(1), field(1, [0x21, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]))
        let map = field(6, field(1, text(1, "a"), field(2, list)), field(1, text(1, "b"), field(2, field(7, [1, 2, 3]))))
        let record =
            [0x09, 1, 2, 3, 4, 5, 6, 7, 0x18, 0x10, 9] + text(3, "INFO") + field(5, map)
            + field(6, text(1, "user.id"), field(2, text(1, "u")))
            + field(6, text(1, "k"), field(2, list)) + field(9, [1, 2, 3]) + [0x45, 1, 0, 0, 0, 0x38, 2] + text(12, "e\"\n")
        let resource = field(1, field(1, text(1, "s"), field(2, [0x10, 1])), [0x10, 1], field(3, text(2, "t"), text(3, "s")))
        let request = field(1, resource, field(2, field(1, text(1, "n"), text(2, "v")), field(2, record), field(2, record), text(3, "u")))
        return DialectFuzzer(OTLPLogs(.protobuf), seeds: [request, field(1, field(2, field(2, record)))], seed: seed, plants: plants)
    }
}
