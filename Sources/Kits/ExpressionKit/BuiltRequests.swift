// The requests that a builder made of one batch, and what their answers mean for its events. An event is delivered only if the request that
// holds it was answered so.

public import HTTPKit
public import PluginKit

public final class BuiltRequests: Requests, @unchecked Sendable {
    private struct Part {
        let place: Place?
        let events: [Int32]
        /// The message id of each event, or nothing if answers name no ids.
        let ids: [[UInt8]?]
        let end: Int
    }

    private let eventCount: Int
    /// The outcomes of events that are in no request.
    package let settled: [(event: Int, outcome: Outcome)]
    private let answers: AnswerRules?
    private let origin: String
    private let secrets: Secrets
    private let note: @Sendable (String) -> Void
    private var parts: [Part] = []
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init(
        events: Int, settled: [(event: Int, outcome: Outcome)], answers: AnswerRules?, origin: String, secrets: Secrets,
        note: @escaping @Sendable (String) -> Void
    ) {
        eventCount = events
        self.settled = settled
        self.answers = answers
        self.origin = origin
        self.secrets = secrets
        self.note = note
    }

    deinit { memory.deallocate() }

    /// Adds a request. `end` is where its body ends in the bytes that `own` copies.
    func add(_ place: Place?, events: [Int32], ids: [[UInt8]?], end: Int) {
        assert(!events.isEmpty && (ids.isEmpty || ids.count == events.count), "a request has no events, or not an id for each of them")
        parts.append(Part(place: place, events: events, ids: ids, end: end))
    }

    /// Copies the bodies.
    func own(_ bodies: UnsafeRawBufferPointer) {
        assert(memory.count == 0 && parts.last?.end ?? 0 == bodies.count, "the bodies do not cover their bytes")
        memory = .allocate(byteCount: bodies.count, alignment: 1)
        memory.copyMemory(from: bodies)
    }

    public var count: Int { parts.count }

    public func place(of index: Int) -> Place? { parts[index].place }

    public func events(of index: Int, count: Int) -> [Int] { parts[index].events.map(Int.init) }

    public var refusals: [(index: Int, reason: String)] {
        settled.compactMap { event, outcome in
            guard case .rejected(_, let reason) = outcome else { return nil }
            return (event, reason)
        }
    }

    public func body(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[(index == 0 ? 0 : parts[index - 1].end)..<parts[index].end])
    }

    public func outcome(of reply: Reply, to index: Int, standard: Outcome) -> Outcome {
        guard let answers else { return standard }
        let request = AnsweredRequest(count: parts[index].events.count, ids: parts[index].ids, origin: origin)
        let judged = answers.outcome(of: reply, to: request, standard: standard, hiding: secrets)
        if let words = judged.note { note(words) }
        return judged.outcome
    }

    public func outcome(of requests: [Outcome?], rest: Outcome?) -> Outcome {
        Fates.outcome(events: eventCount, settled: settled, parts: parts.map(\.events), requests: requests, rest: rest)
    }
}
