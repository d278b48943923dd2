// Judges dead letters by the current plan: each by the route that it came through or, if that route no longer sends to the letter's
// provider, by all routes that do.

internal import Admission
internal import DeadLetterStore
internal import Events
internal import Judging
internal import Ledger
internal import Plans
internal import Workers

final class LetterJudge {
    var worker: Worker
    init(_ ruleset: Ruleset, depth: Int) { worker = Worker(ruleset, lineLimit: .max, depth: depth, blockSize: 64 << 10) }
}

enum Judgement {
    case sent(copies: Int)
    case denied, filtered
    /// The letter is not an event by the current limits, or the records of its subjects cannot be read, or nothing is on record and it
    /// would be held.
    case undecided
}

/// Judges letters to one provider by the current plan.
final class LetterJudges {
    private let plan: Plan
    private let provider: Int
    private let ledger: LedgerView?
    /// The judges of single routes, and under nil the judge of all routes.
    private var judgings: [Int?: LetterJudge] = [:]

    init(_ plan: Plan, provider: Int, ledger: LedgerView?) {
        self.plan = plan
        self.provider = provider
        assert(plan.providers.indices.contains(provider), "the plan has no such provider")
        self.ledger = ledger
    }

    func judge(_ letter: DeadLetter, arrival: Int64, into parcel: inout Parcel) -> Judgement {
        let own = plan.routes.firstIndex { $0.name == letter.route && $0.providers.contains(provider) }
        let judging = judging(own)
        if ledger != nil { judging.worker.judge.know(subjects: letter.subjects, level: level(of: letter)) }
        judging.worker.load(letter.event, arrival: arrival)
        defer { judging.worker.reset() }
        guard judging.worker.tally.events == 1 else { return .undecided }
        let parcels = judging.worker.parcels
        let copies = parcels[provider].entries.count
        assert(parcels.indices.allSatisfy { $0 == provider || parcels[$0].isEmpty }, "a letter goes to another provider than its own")
        if copies > 0 {
            parcel.append(copying: 0..<copies, of: parcels[provider])
            parcels[provider].removeAll()
            return .sent(copies: copies)
        }
        let routes = own == nil ? plan.routes.indices.filter { plan.routes[$0].providers.contains(provider) } : [0]
        // A letter of unknown subjects stays.
        if routes.contains(where: { judging.worker.tally[$0, .held] > 0 }) { return .undecided }
        let denials = Denial.allCases.filter { denial in routes.contains { judging.worker.tally[$0, .denied(denial)] > 0 } }
        if denials.contains(.unreadable) || denials.contains(.clock) { return .undecided }
        return denials.isEmpty ? .filtered : .denied
    }

    /// Returns the level under which the letter was admitted. It is the highest one if the plan does not have that level any more.
    private func level(of letter: DeadLetter) -> Int {
        guard letter.level != "", let levels = plan.consent?.levels, !levels.isEmpty else { return 0 }
        return levels.firstIndex { $0.name == letter.level } ?? levels.count - 1
    }

    /// Returns the judge for one route, or for all routes. Routes that do not send to the provider are kept too, since they take events
    /// from routes with `else`.
    private func judging(_ own: Int?) -> LetterJudge {
        if let known = judgings[own] { return known }
        let indices = own.map { [$0] } ?? Array(plan.routes.indices)
        var today = plan
        today.emits = []
        // The letter is an edited copy, which the plan does not describe. Whoever replays it has decided.
        today.trackingPlan = nil
        today.routes = indices.map { index in
            var route = plan.routes[index]
            route.providers = route.providers.filter { $0 == provider }
            route.sample = nil
            route.session = nil
            // The letter came through this route before, so no earlier route took it.
            if own != nil { route.takesRest = false }
            return route
        }
        let ruleset = Ruleset(today, numbers: indices.map { UInt16($0) }, keepsDigests: true, records: ledger?.records)
        let made = LetterJudge(ruleset, depth: plan.limits.depth)
        judgings[own] = made
        return made
    }
}

extension Worker {
    /// Judges and edits only this event.
    mutating func load(_ event: [UInt8], arrival: Int64) {
        event.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.text.append(UInt8(ascii: "\n"))
        block.arrival = arrival
        work()
    }
}
