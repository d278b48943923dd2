// The requests of one delivery to a vendor, and what their answers mean for the events of the batch. An event is delivered only if all of
// its wire events are. If any of them is to be sent again, the event is sent again as a whole, with the same ids.

package import HTTPKit
package import PluginKit

package final class VendorRequests<V: Vendor>: Requests, @unchecked Sendable {
    fileprivate struct Part {
        let endpoint: Endpoint.ID
        /// The event of the batch of each wire event.
        let events: [Int32]
        let end: Int
    }

    private let vendor: V
    package let refused: [(event: Int, reason: String)]
    private let eventCount: Int
    private let secrets: Secrets
    private var parts: [Part] = []
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init(_ vendor: V, events: Int, refused: [(event: Int, reason: String)], secrets: Secrets) {
        self.vendor = vendor
        self.refused = refused
        eventCount = events
        self.secrets = secrets
    }

    deinit { memory.deallocate() }

    // MARK: - Making

    /// Adds a request. `end` is where its body ends in the bytes that `own` copies.
    func add(_ body: Body, of wire: borrowing WireEvents, end: Int) {
        parts.append(Part(endpoint: body.endpoint, events: body.events.map { wire.events[Int($0)].event }, end: end))
    }

    /// Copies the bodies.
    func own(_ bodies: UnsafeRawBufferPointer) {
        assert(memory.count == 0 && parts.last?.end ?? 0 == bodies.count, "the bodies do not cover their bytes")
        memory = .allocate(byteCount: bodies.count, alignment: 1)
        memory.copyMemory(from: bodies)
    }

    // MARK: - Requests

    package var count: Int { parts.count }

    package func target(of index: Int) -> Int { parts[index].endpoint.index }

    package func body(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[(index == 0 ? 0 : parts[index - 1].end)..<parts[index].end])
    }

    package func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome {
        let part = parts[index]
        let request = SentRequest(endpoint: part.endpoint, count: part.events.count, hasSeveralEvents: part.hasSeveralEvents)
        switch vendor.judge(reply, to: request) {
        case .standard: return standard
        case .whole(let outcome): return shown(outcome)
        case .each(let outcome):
            let outcome = shown(outcome)
            guard case .rejected = outcome else { return outcome }
            return .mixed(rest: .delivered, events: part.events.indices.map { ($0, outcome) })
        case .mixed(let rest, let events):
            // An answer is foreign: an index that it does not have is ignored.
            return .mixed(
                rest: shown(rest),
                events: events.filter { part.events.indices.contains($0.index) }.map { ($0.index, shown($0.outcome)) })
        }
    }

    /// Returns an outcome whose words are safe to show: they may be what a server said, which can repeat a secret.
    private func shown(_ outcome: Outcome) -> Outcome {
        func shown(_ words: String) -> String { printable(secrets.concealed(in: words)) }
        return switch outcome {
        case .rejected(let code, let words): .rejected(code: code, shown(words))
        case .retry(let code, let words, let pause): .retry(code: code, shown(words), afterMilliseconds: pause)
        case .unknown(let code, let words): .unknown(code: code, shown(words))
        case .fault(let code, let words): .fault(code: code, shown(words))
        case .closed(let words): .closed(shown(words))
        case .delivered, .untried, .mixed: outcome
        }
    }

    package func events(of index: Int, count: Int) -> [Int] { Set(parts[index].events).map { Int($0) }.sorted() }

    package func outcome(of requests: [Outcome?], rest: Outcome?) -> Outcome {
        Fates.outcome(
            events: eventCount, settled: refused.map { ($0.event, .rejected($0.reason)) }, parts: parts.map(\.events), requests: requests,
            rest: rest)
    }
}

extension VendorRequests.Part {
    fileprivate var hasSeveralEvents: Bool { events.contains { $0 != events[0] } }
}
