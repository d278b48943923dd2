// The outcomes of the events of one delivery, each from an answer of its own, and the outcome of the delivery that follows from them. It
// promises that each event gets one outcome: a second answer for an event is ignored.

package import PluginKit

package struct EventOutcomes {
    private var outcomes: [Outcome?]
    package private(set) var open: Int
    private var isAllDelivered = true

    package init(count: Int) {
        outcomes = Array(repeating: nil, count: count)
        open = count
    }

    package var count: Int { outcomes.count }
    package func isOpen(_ event: Int) -> Bool { outcomes[event].map { _ in false } ?? true }

    /// Notes the outcome of an event. Returns true if no event is open any more. An event that already has an outcome keeps it.
    @discardableResult package mutating func settle(_ event: Int, _ outcome: Outcome) -> Bool {
        guard outcomes.indices.contains(event), isOpen(event) else { return open == 0 }
        if case .delivered = outcome {} else { isAllDelivered = false }
        outcomes[event] = outcome
        open -= 1
        assert(open >= 0, "more events have an outcome than the delivery has")
        return open == 0
    }

    /// Gives every open event this outcome.
    package mutating func settleRest(_ outcome: Outcome) {
        for event in outcomes.indices where isOpen(event) { settle(event, outcome) }
    }

    /// The outcome of the delivery. If no event was taken and something prevents every one of them, it is that of the whole delivery, so that
    /// the lane pauses. Otherwise the events that were not delivered have outcomes of their own.
    package var outcome: Outcome {
        if isAllDelivered { return .delivered }
        var rest: Outcome?
        for case let outcome? in outcomes {
            if EventOutcomes.weight(of: outcome) > (rest.map(EventOutcomes.weight) ?? 0) { rest = outcome }
        }
        let whole = rest ?? .delivered
        let weight = EventOutcomes.weight(of: whole)
        var events: [(index: Int, outcome: Outcome)] = []
        for (index, outcome) in outcomes.enumerated() {
            let outcome = outcome ?? .unknown("nothing was heard of the event")
            if EventOutcomes.weight(of: outcome) != weight { events.append((index, outcome)) }
        }
        return events.isEmpty ? whole : .mixed(rest: whole, events: events)
    }

    /// What says most about the destination counts most, and what says something only about its event counts nothing.
    private static func weight(of outcome: Outcome) -> Int {
        switch outcome {
        case .delivered: 0
        case .rejected: -1
        case .untried: 1
        case .retry: 2
        case .unknown: 3
        case .fault: 4
        case .closed: 5
        case .mixed: 3
        }
    }
}
