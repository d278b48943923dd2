// An active delivery and its requests. It is answered once, when each of its requests has an outcome. After a request that is to be
// retried, no further request begins: a cause such as a busy server or a wrong password also affects the next events.

internal import PluginKit

final class PendingDelivery: @unchecked Sendable {
    private let bodies: RequestBodies
    private var delivery: Delivery?
    /// The outcome of each request, or nil while it is not known.
    private var outcomes: [Outcome?]
    private var begun = 0
    private var underWay = 0
    /// The outcome of all requests that have not begun.
    private var rest: Outcome?

    init(_ delivery: consuming Delivery, _ bodies: RequestBodies) {
        self.delivery = consume delivery
        self.bodies = bodies
        outcomes = Array(repeating: nil, count: bodies.count)
    }

    /// True if another request should begin.
    var wantsMore: Bool { rest == nil && begun < bodies.count }

    /// Begins the next request.
    func begin() -> (index: Int, body: UnsafeRawBufferPointer) {
        assert(wantsMore, "a request begins that nobody wants")
        let index = begun
        begun += 1
        underWay += 1
        return (index, bodies.body(index))
    }

    /// Stops further requests: this outcome applies to all that have not begun. A pause replaces a shorter pause, and an outcome without
    /// one.
    func putOff(_ outcome: Outcome) {
        if rest == nil || rest?.time ?? 0 < outcome.time ?? 0 { rest = outcome }
    }

    /// Records the outcome of a request that has ended. Its body is no longer used.
    func settle(_ index: Int, _ outcome: Outcome) {
        underWay -= 1
        assert(underWay >= 0 && (0..<begun).contains(index), "a request ended that had not begun")
        assert(outcomes[index].map { _ in false } ?? true, "a request has two outcomes")
        outcomes[index] = outcome
        switch outcome {
        case .delivered, .rejected: break
        // A request that did not begin cannot have been delivered.
        case .unknown(let code, let message): putOff(.retry(code: code, message))
        case .retry, .fault, .closed, .mixed: putOff(outcome)
        }
    }

    /// Answers the delivery if it is over. Returns true if it is over.
    func endIfDone() -> Bool {
        guard !wantsMore, underWay == 0 else { return false }
        assert(outcomes[..<begun].allSatisfy { $0.map { _ in true } ?? false }, "a request that began has no outcome")
        delivery.take()?.finish(outcome)
        return true
    }

    private var outcome: Outcome {
        if outcomes.count == 1 { return outcomes[0] ?? rest ?? .delivered }
        // A pause applies to the server, even if every request had begun. So it becomes the outcome of the batch, and the whole lane waits.
        if let rest, begun < outcomes.count || rest.time != nil { return .mixed(rest: rest, events: list { _ in true }) }
        let others = list { if case .delivered = $0 { false } else { true } }
        return others.isEmpty ? .delivered : .mixed(rest: .delivered, events: others)
    }

    private func list(_ isListed: (Outcome) -> Bool) -> [(index: Int, outcome: Outcome)] {
        outcomes.indices.compactMap { index in
            guard let outcome = outcomes[index], isListed(outcome) else { return nil }
            return (index, outcome)
        }
    }
}

extension Outcome {
    /// The pause that the server asked for, in milliseconds.
    fileprivate var time: UInt64? {
        if case .retry(_, _, let milliseconds) = self { milliseconds } else { nil }
    }
}
