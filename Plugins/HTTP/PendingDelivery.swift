// A delivery under way, as the requests that it takes. It is answered once, when each of its requests has its fate. After one that was
// put off no further ones begin: what holds for one event (a busy server, a wrong password) holds for those behind it.

internal import PluginKit

final class PendingDelivery: @unchecked Sendable {
    private let bodies: RequestBodies
    private var delivery: Delivery?
    /// What became of each request, as far as it is known.
    private var outcomes: [Outcome?]
    private var begun = 0
    private var underWay = 0
    /// The fate of all requests that have not begun.
    private var rest: Outcome?

    init(_ delivery: consuming Delivery, _ bodies: RequestBodies) {
        self.delivery = consume delivery
        self.bodies = bodies
        outcomes = Array(repeating: nil, count: bodies.count)
    }

    /// Whether it wants another request to begin.
    var wantsMore: Bool { rest == nil && begun < bodies.count }

    /// Begins the next request.
    func begin() -> (index: Int, body: UnsafeRawBufferPointer) {
        let index = begun
        begun += 1
        underWay += 1
        return (index, bodies.body(index))
    }

    /// No further request begins; those that have not begun share this fate. What names a time comes before what names none.
    func putOff(_ outcome: Outcome) {
        if rest == nil || rest?.time ?? 0 < outcome.time ?? 0 { rest = outcome }
    }

    /// A request has ended. Its body is not read any more.
    func settle(_ index: Int, _ outcome: Outcome) {
        underWay -= 1
        outcomes[index] = outcome
        switch outcome {
        case .delivered, .rejected: break
        // What was not sent cannot have been delivered.
        case .unknown(let code, let message): putOff(.retry(code: code, message))
        case .retry, .fault, .closed, .mixed: putOff(outcome)
        }
    }

    /// Whether the delivery is over, having answered it when it is.
    func endIfDone() -> Bool {
        guard !wantsMore, underWay == 0 else { return false }
        delivery.take()?.finish(outcome)
        return true
    }

    private var outcome: Outcome {
        if outcomes.count == 1 { return outcomes[0] ?? rest ?? .delivered }
        // A time is the server's own, also when every request had begun: it is said of the batch, so that the whole lane keeps to it.
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
    /// For how long the server asked to be left alone, in milliseconds.
    fileprivate var time: UInt64? {
        if case .retry(_, _, let milliseconds) = self { milliseconds } else { nil }
    }
}
