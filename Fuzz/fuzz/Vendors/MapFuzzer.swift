// Fuzzes what a vendor's module makes of events. For any events, each one is refused with a reason, or a part of a body; each body is within
// the limits of the vendor, and valid for a reader that follows the vendor's documentation; and the same events give the same bytes again.

import HTTPKit
import Platform
import PluginKit
import VendorKit

/// Reads a body as the vendor's server would. Returns the number of events that it holds, or throws what is wrong with it.
typealias WireCheck = (_ body: UnsafeRawBufferPointer, _ oracle: ObjectOracle) throws(Wrong) -> Int

/// What is wrong with a body.
struct Wrong: Error {
    let words: String
    init(_ words: String) { self.words = words }
}

final class MapFuzzer<V: Vendor>: Fuzzer {
    private let mapper: Mapper<V>
    private let check: WireCheck
    private let oracle = ObjectOracle()
    private let plants: Bool
    private var events: VendorEvents

    init(_ vendor: V.Type, _ settings: String, seed: UInt64, plants: Bool, _ check: @escaping WireCheck) throws {
        mapper = try FuzzedVendor.mapper(vendor, settings)
        events = VendorEvents(seed: seed)
        self.check = check
        self.plants = plants
    }

    func next() -> (Comparison, input: [UInt8]) {
        let batch = events.batch()
        return (judge(batch), Array(batch.joined(separator: [0x0a])))
    }

    private func judge(_ batch: [[UInt8]]) -> Comparison {
        FuzzedVendor.withLines(batch) { lines, arrivals in
            guard let requests = mapper.requests(lines, arrivals: arrivals) else { return .unexplained("there is no memory") }
            do throws(Wrong) {
                let taken = batch.count - Set(requests.refused.map(\.event)).count
                guard requests.refused.allSatisfy({ batch.indices.contains($0.event) && !$0.reason.isEmpty }) else {
                    throw Wrong("an event is refused that is not there, or without a reason")
                }
                var count = 0
                for index in 0..<requests.count {
                    let body = requests.body(index)
                    // The planted bug: at some lengths the last byte of a body is missing.
                    let isPlanted = plants && body.count % 31 == 30
                    count += try check(isPlanted ? UnsafeRawBufferPointer(rebasing: body.dropLast()) : body, oracle)
                }
                guard count == taken else { throw Wrong("\(taken) events are not refused, and the bodies hold \(count)") }
                try compare(requests, with: mapper.requests(lines, arrivals: arrivals))
                return taken > 0 ? .valid : .invalid
            } catch {
                // What a JSON reader of the vendor would not read is the sender's own: the router finds that event by halving.
                return error.words == ObjectOracle.bigNumber || error.words == ObjectOracle.tooDeep
                    ? .explained(error.words) : .unexplained(error.words)
            }
        }
    }

    private func compare(_ first: VendorRequests<V>, with second: VendorRequests<V>?) throws(Wrong) {
        guard let second, first.count == second.count else { throw Wrong("the same events give another number of bodies") }
        for index in 0..<first.count where !first.body(index).elementsEqual(second.body(index)) {
            throw Wrong("the same events give another body")
        }
    }
}

/// What both fuzzers of a vendor do.
enum FuzzedVendor {
    /// The time of each arrival and of each delivery, in nanoseconds since 1970.
    static let now: Int64 = 1_795_312_800_000_000_000

    static func mapper<V: Vendor>(_ vendor: V.Type, _ settings: String) throws -> Mapper<V> {
        let clock = Clock(now: { Instant(nanoseconds: 0) }, wall: { now })
        return try Mapper(settings: Settings(json: settings), host: Host(log: { _, _ in }, closed: { _ in }), clock: clock)
    }

    /// Calls `body` with the events as the lines of a batch. The memory ends with the last line, so that the address sanitizer detects a
    /// read beyond it.
    static func withLines<R>(_ events: [[UInt8]], _ body: (Lines, UnsafeBufferPointer<Int64>) -> R) -> R {
        let size = events.reduce(0) { $0 + $1.count + 1 }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { memory.deallocate() }
        var ends: [UInt64] = []
        var end = 0
        for event in events {
            memory[end..<end + event.count].copyBytes(from: event)
            memory[end + event.count] = UInt8(ascii: "\n")
            end += event.count + 1
            ends.append(UInt64(end))
        }
        return ends.withUnsafeBufferPointer { ends in
            Array(repeating: now, count: events.count).withUnsafeBufferPointer { body(Lines(bytes: .init(memory), ends: ends), $0) }
        }
    }
}
