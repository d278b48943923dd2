// An active delivery and its requests. It is answered once, when each of its requests has an outcome. After a request that is to be
// retried, no further request begins: a cause such as a busy server or a wrong password also affects the next events.

internal import PluginKit

final class PendingDelivery: @unchecked Sendable {
    let requests: any Requests
    private var delivery: Delivery?
    /// The outcome of each request, or nil while it is not known.
    private var outcomes: [Outcome?]
    private var begun = 0
    private var underWay = 0
    /// The outcome of all requests that have not begun.
    private var rest: Outcome?

    init(_ delivery: consuming Delivery, _ requests: any Requests) {
        self.delivery = consume delivery
        self.requests = requests
        outcomes = Array(repeating: nil, count: requests.count)
    }

    /// True if another request should begin.
    var wantsMore: Bool { rest == nil && begun < requests.count }

    /// Begins the next request and returns its index.
    func begin() -> Int {
        assert(wantsMore, "a request begins that nobody wants")
        begun += 1
        underWay += 1
        return begun - 1
    }

    /// Returns true if the events of a request may leave now.
    func mayBegin(_ index: Int) -> Bool {
        switch delivery {
        case .some(let delivery):
            if requests.count == 1 { return delivery.batch.mayBegin() }
            return delivery.batch.mayBegin(requests.events(of: index, count: delivery.batch.count))
        case nil: return false
        }
    }

    /// Stops further requests: this outcome applies to all that have not begun. A pause replaces a shorter pause, and an outcome without
    /// one.
    func putOff(_ outcome: Outcome) {
        if rest == nil || rest?.pause ?? 0 < outcome.pause ?? 0 { rest = outcome }
    }

    /// Records the outcome of a request that has ended. Its body is no longer used.
    func settle(_ index: Int, _ outcome: Outcome) {
        underWay -= 1
        assert(underWay >= 0 && (0..<begun).contains(index), "a request ended that had not begun")
        assert(outcomes[index].map { _ in false } ?? true, "a request has two outcomes")
        outcomes[index] = outcome
        putOffOthers(outcome)
    }

    private func putOffOthers(_ outcome: Outcome) {
        switch outcome {
        case .delivered, .rejected: break
        // A request that did not begin cannot have been delivered.
        case .unknown(let code, let message): putOff(.retry(code: code, message))
        case .retry, .fault, .closed, .untried: putOff(outcome)
        // Single events that wait do not make the others wait.
        case .mixed(let rest, _): putOffOthers(rest)
        }
    }

    /// Answers the delivery if it is over. Returns true if it is over.
    func endIfDone() -> Bool {
        guard !wantsMore, underWay == 0 else { return false }
        assert(outcomes[..<begun].allSatisfy { $0.map { _ in true } ?? false }, "a request that began has no outcome")
        delivery.take()?.finish(requests.outcome(of: outcomes, rest: rest))
        return true
    }
}
