// Joins the outcomes of the wire events to the outcome of each event of a batch, and these to the outcome of the batch.

internal import PluginKit

struct Fates {
    /// What the outcomes so far make of an event, from the best to the worst. The worst one counts.
    private enum Rank: Int {
        case delivered
        case rejected
        /// A request with several events was refused. The bad event is not known.
        case refusedTogether
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

    init(events: Int) { fates = Array(repeating: Fate(), count: events) }

    /// Adds the outcome of one wire event of an event. `isShared` is true if other events have it from the same answer.
    mutating func add(_ outcome: Outcome, to event: Int, isShared: Bool, isWhole: Bool) {
        let rank = Fates.rank(outcome, isShared: isShared)
        guard rank.rawValue > fates[event].rank.rawValue else { return }
        fates[event] = Fate(rank: rank, outcome: outcome, isWhole: isWhole)
    }

    private static func rank(_ outcome: Outcome, isShared: Bool) -> Rank {
        switch outcome {
        case .delivered: .delivered
        case .rejected: isShared ? .refusedTogether : .rejected
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
    func outcome(pause: Outcome?) -> Outcome {
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
