// Fuzzes a whole request after its head. For any body and codings there is exactly one answer, and no status makes a client drop valid
// events. The router gets one line for each event. At the end no memory is held.

import Events
import Ingest
import Platform

@testable import Listener
@testable import Models
@testable import Plans

final class ServiceFuzzer: Fuzzer {
    private var mutator: Mutator
    private let services: [any Service] = [NativeService(), SegmentService(), OTLPService()]
    private let limits: HTTPLimits
    private let sink = CountingSink()
    private let budget = MemoryBudget(most: 400_000)
    private let handler: RequestHandler
    private let translator: Listener.RequestTranslator
    private let plants: Bool

    private static let codings = ["gzip", "deflate", "zstd", "br", "identity", "gzip, zstd", "br, br", "gzip, gzip, gzip", ""]
    private static let types = ["application/json", "application/x-protobuf", "text/plain", "application/x-ndjson", ""]

    init(seed: UInt64, plants: Bool) {
        var limits = HTTPLimits()
        limits.decoded = 4000
        limits.events = 20
        self.limits = limits
        self.plants = plants
        mutator = Mutator(seed: seed, seeds: ServiceFuzzer.seeds)
        handler = RequestHandler(
            source: 0, limits: limits, keys: KeyRing(HTTPSourcePlan()), budget: budget, sink: sink,
            log: RefusalLog(name: "fuzz", paths: [], clock: .system) { _ in }, clock: .system)
        translator = Listener.RequestTranslator(handler.translation)
    }

    func next() -> (Comparison, input: [UInt8]) {
        let service = services[mutator.below(services.count)]
        let body = mutator.body()
        // Mostly use the coding that the body has.
        let other = ServiceFuzzer.codings[mutator.below(ServiceFuzzer.codings.count)]
        let coding = mutator.below(4) > 0 ? ServiceFuzzer.coding(of: body) : other
        let strict = mutator.below(4) == 0 ? "?strict=1" : ""
        let path = service.endpoints[mutator.below(service.endpoints.count)].path + strict
        let exchange = Exchange(uri: path, limits: limits)
        exchange.head = RequestHead(method: "POST", uri: path, limits: limits)
        add("content-type", ServiceFuzzer.types[mutator.below(ServiceFuzzer.types.count)], to: exchange)
        if !coding.isEmpty { add("content-encoding", coding, to: exchange) }
        _ = body.withUnsafeBytes { exchange.append($0, budget: budget) }
        let replies = Monitor<[Reply]>([])
        sink.reset()
        handler.work(exchange, service, at: translator, offers: false) { reply in replies.withLock { $0.append(reply) } }
        return (judge(replies.withLock { $0 }, body), body)
    }

    private func judge(_ replies: [Reply], _ body: [UInt8]) -> Comparison {
        guard replies.count == 1, var status = replies.first?.status else { return .unexplained("\(replies.count) answers") }
        if plants && body.count % 31 == 30 { status = 500 }
        guard [200, 400, 413, 415, 429, 503].contains(status) else { return .unexplained("the status \(status)") }
        if let wrong = sink.wrong { return .unexplained(wrong) }
        if budget.inUse != 0 { return .unexplained("\(budget.inUse) bytes are held") }
        return status == 200 && sink.lines > 0 ? .valid : .invalid
    }

    private func add(_ name: StaticString, _ value: String, to exchange: Exchange) {
        let value = Array(value.utf8)
        value.withUnsafeBufferPointer { value in
            _ = exchange.head.add(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
        }
    }
}

/// Takes whole lines, and records what is wrong with them.
private final class CountingSink: EventSink, @unchecked Sendable {
    private(set) var lines = 0
    private(set) var wrong: String?

    func reset() {
        lines = 0
        wrong = nil
    }

    func submit(
        _ text: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let bytes = Array(text.bytes)
        if bytes.last != 0x0a { wrong = "the last line has no newline" }
        let all = bytes.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast()
        lines = all.count
        if lines > 21 { wrong = "\(lines) lines, but at most 20 events are allowed" }
        if all.contains(where: { $0.allSatisfy { $0 <= 0x20 } }) { wrong = "a blank line" }
        let invalid = all.enumerated().filter { $0.element.first != UInt8(ascii: "{") }.map { InvalidLine(line: $0.offset, message: "no") }
        answer(.stored(invalid: invalid))
        return true
    }
}

extension ServiceFuzzer {
    private static let batch = #"{"batch":[{"event":"a","n":NaN},{"event":"b"}],"writeKey":"k"}"#

    /// Plain bodies, the same batch in gzip and deflate, two lines in zstd, an uncompressed piece of brotli, and a body in protobuf.
    private static let seeds: [[UInt8]] =
        [batch, "[{\"a\":1},{}]", "{\"a\":1}\n{\"b\":NaN}\n", #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"e"}]}]}]}"#]
        .map { Array($0.utf8) }
        + [
            bytes(
                "1f8b0800000000000203ab564a4a2c49ce50b28aae564a2d4bcd2b51b2524a54d251ca53b2f24bf4abd541882629d5c6ea2895176596a47aa7560205"
                    + "b2956a014ec133e63e000000"),
            bytes(
                "789cab564a4a2c49ce50b28aae564a2d4bcd2b51b2524a54d251ca53b2f24bf4abd541882629d5c6ea2895176596a47aa7560205b2956a016c2a139a"),
            bytes("28b52ffd04588100007b2261223a317d0a7b2262223a327d0a13474c48"),
            bytes("700010") + Array("{\"a\":1}\n".utf8) + [0x03],
            [0x0a, 0x07, 0x12, 0x05, 0x12, 0x03, 0x62, 0x01, 0x65],
        ]

    private static func bytes(_ text: String) -> [UInt8] {
        let digits = text.utf8.map { $0 < 0x3a ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func coding(of body: [UInt8]) -> String {
        switch body.first {
        case 0x1f: "gzip"
        case 0x78: "deflate"
        case 0x28: "zstd"
        case 0x70: "br"
        default: ""
        }
    }
}
