// The statement of one event for the ledger, as pure values with the names of the configuration. The caller decides whether the source may
// write. This file also computes what is left of a statement if only refusals count.

internal import Plans

/// A statement of consent in an event.
public struct ConsentAction: Sendable, Equatable {
    public enum Act: Sendable, Equatable {
        /// The complete terms, which replace the terms before.
        case state(ConsentTerms)
        /// These purposes are refused; the rest of the terms stays.
        case refuse([String])
        /// These purposes are refused, and waiting events that need them are destroyed. Nil means everything.
        case withdraw([String]?)
        /// The ids belong to one person.
        case tie
        /// The ids are untied.
        case untie
        /// The statement is invalid, for this reason. The reason repeats nothing of the event.
        case broken(String)
    }

    public var act: Act
    /// The raw ids of its subjects, without duplicates.
    public var ids: [[UInt8]]
    /// The time when the person decided, as the event says, in nanoseconds since 1970.
    public var time: Int64?
    /// True if providers are to be asked to erase. Then the act is a withdrawal of everything.
    public var erases = false
    /// What the event carries as evidence. It is nil if it carries none.
    public var evidence: ConsentEvidence?

    public init(act: Act, ids: [[UInt8]], time: Int64? = nil) {
        self.act = act
        self.ids = ids
        self.time = time
    }

    /// Returns the time of the decision, given the time of the decision before; nil means now. A refusal is never earlier than the decision
    /// before, so a wrong clock of the sender cannot make it late.
    public func decided(after last: Int64?) -> Int64? {
        if case .state(let terms) = act, terms.grants { return time }
        return time.map { max($0, last ?? .min) }
    }
}

extension ConsentTerms {
    /// True if the terms allow something.
    public var grants: Bool { level != nil || !granted.isEmpty }
}

/// The levels and purposes of a plan, by name.
public struct ConsentVocabulary: Sendable {
    /// The levels from lowest to highest, with their purposes. The purposes are empty if levels have none.
    private let levels: [(name: String, purposes: [String])]
    private let purposes: [String]
    /// True if the plan assumes a level for at least some unknown subjects.
    public let assumes: Bool

    init(_ plan: ConsentPlan, purposes: [String]) {
        levels = plan.levels.map { ($0.name, $0.purposes ?? []) }
        self.purposes = purposes
        assumes = ([plan.unknown] + (plan.unknownBy?.cases.map(\.value) ?? [])).contains { if case .assume = $0 { true } else { false } }
    }

    /// Returns the new terms if only the refusals in `stated` count. Returns nil if they change nothing.
    public func lowered(_ known: ConsentTerms?, by stated: ConsentTerms) -> ConsentTerms? {
        if known?.isWithdrawn == true { return nil }
        if stated.isWithdrawn { return .withdrawn }
        let named = levels.first { $0.name == stated.level }?.purposes ?? []
        // Terms that grant something refuse all purposes that they do not name. Terms that only deny refuse only what they deny.
        let refused = stated.grants ? purposes.filter { !named.contains($0) && !stated.granted.contains($0) } : []
        let denied = Array(Set(refused + stated.denied))
        guard let known else {
            // The lowest level alone grants nothing, so it counts as a refusal.
            let level = stated.level == levels.first?.name && stated.granted.isEmpty ? stated.level : nil
            return denied.isEmpty && level == nil ? nil : ConsentTerms(level: level, denied: denied)
        }
        let terms = ConsentTerms(
            level: lower(known.level, stated.level), granted: known.granted, denied: known.denied + denied, version: known.version)
        return terms == known ? nil : terms
    }

    /// Returns the terms that hold if the statement cannot be written: each of the known terms without what is refused now. Returns nil if
    /// nothing changes.
    public func lowered(_ known: [ConsentTerms], by act: ConsentAction.Act) -> [ConsentTerms]? {
        switch act {
        case .withdraw(nil): return [.withdrawn]
        case .refuse(let purposes), .withdraw(let purposes?):
            return known.isEmpty ? [ConsentTerms(denied: purposes)] : known.map { $0.refusing(purposes) }
        case .state(let terms):
            if known.isEmpty { return lowered(nil, by: terms).map { [$0] } }
            return known.map { lowered($0, by: terms) ?? $0 }
        case .tie, .untie, .broken: return nil
        }
    }

    private func lower(_ known: String?, _ stated: String?) -> String? {
        func rank(_ name: String) -> Int { levels.firstIndex { $0.name == name } ?? -1 }
        guard let known, let stated, rank(stated) < rank(known) else { return known }
        return stated
    }
}
