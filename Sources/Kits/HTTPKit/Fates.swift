// Joins the outcomes of the wire events to the outcome of each event of a batch, and these to the outcome of the batch. A wire event is
// what a request holds of an event.

package import PluginKit

package struct Fates {
    /// What the outcomes so far make of an event, from the best to the worst. The worst one counts.
    private enum Rank: Int {
        case delivered
        case rejected
        /// A request with several events was refused. The bad event is not known.
        case refusedTogether
        case untried
        case retry
        case unknown
        case fault
        case closed
    }

    private struct Fate {
        var rank = Rank.delivered
        var outcome = Outcome.delivered
        /// True if the outcome is the one of a whole request, so that it also says something about the destination.
        var isWhole = false
    }

    private var fates: [Fate]

    private init(events: Int) { fates = Array(repeating: Fate(), count: events) }

    /// Returns the outcome of a batch of `events` events. `settled` holds the outcomes of events that were decided without a request. `parts`
    /// holds the event of each wire event of each request. A request without an outcome has not begun, and `rest` applies to it; `rest` is
    /// also the pause that a server asked for.
    package static func outcome(
        events: Int, settled: [(event: Int, outcome: Outcome)], parts: [[Int32]], requests: [Outcome?], rest: Outcome?
    ) -> Outcome {
        if settled.isEmpty, requests.allSatisfy({ if case .delivered? = $0 { true } else { false } }) { return .delivered }
        var fates = Fates(events: events)
        for (event, outcome) in settled { fates.add(outcome, to: event, isShared: false, isWhole: false) }
        for (part, outcome) in zip(parts, requests) {
            let isShared = part.contains { $0 != part[0] }
            switch outcome ?? rest ?? .retry("the request was not sent") {
            case .mixed(let others, let events):
                var single: [Int: Outcome] = [:]
                for (index, outcome) in events { single[index] = outcome }
                for (index, event) in part.enumerated() {
                    let own = single[index]
                    fates.add(own ?? others, to: Int(event), isShared: own == nil && isShared, isWhole: own == nil)
                }
            case let outcome:
                for event in part { fates.add(outcome, to: Int(event), isShared: isShared, isWhole: true) }
            }
        }
        return fates.outcome(pause: rest.flatMap { $0.pause == nil ? nil : $0 })
    }

    /// Adds the outcome of one wire event of an event. `isShared` is true if other events have it from the same answer.
    private mutating func add(_ outcome: Outcome, to event: Int, isShared: Bool, isWhole: Bool) {
        let rank = Fates.rank(outcome, isShared: isShared)
        guard rank.rawValue > fates[event].rank.rawValue else { return }
        fates[event] = Fate(rank: rank, outcome: outcome, isWhole: isWhole)
    }

    private static func rank(_ outcome: Outcome, isShared: Bool) -> Rank {
        switch outcome {
        case .delivered: .delivered
        case .rejected: isShared ? .refusedTogether : .rejected
        case .untried: .untried
        case .retry: .retry
        case .unknown: .unknown
        case .fault: .fault
        case .closed: .closed
        // An outcome of a wire event has no parts.
        case .mixed: .unknown
        }
    }

    /// Returns the outcome of the batch. `pause` is the outcome with which a server asked for a pause: then it is the one of the batch, so
    /// that the whole lane waits.
    private func outcome(pause: Outcome?) -> Outcome {
        let whole = fates.filter { $0.isWhole && $0.rank.rawValue > Rank.refusedTogether.rawValue }
        // Of several, the worst one is the one of the batch: it says most about the destination.
        let worst = whole.max { $0.rank.rawValue < $1.rank.rawValue }
        let rest: Fate
        if let pause {
            rest = Fate(rank: .retry, outcome: pause, isWhole: true)
        } else if let worst {
            rest = worst
        } else if let refused = fates.first(where: { $0.rank == .refusedTogether }) {
            rest = refused
        } else {
            rest = Fate()
        }
        let isRest: (Fate) -> Bool = { $0.rank == rest.rank && $0.isWhole == rest.isWhole }
        if fates.allSatisfy(isRest) { return rest.outcome }
        let events = fates.indices.filter { !isRest(fates[$0]) }.map { ($0, Fates.single(fates[$0])) }
        return .mixed(rest: rest.outcome, events: events)
    }

    /// Returns the outcome of an event that is not the one of the batch.
    private static func single(_ fate: Fate) -> Outcome {
        switch (fate.rank, fate.outcome) {
        // The router halves only what has the outcome of the batch. These events come again, and are refused again, when the rest is over.
        case (.refusedTogether, .rejected(let code, let words)): .retry(code: code, words)
        case (_, .closed(let words)): .unknown(words)
        default: fate.outcome
        }
    }
}
