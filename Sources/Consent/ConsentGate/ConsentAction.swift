// What one event says to the ledger: pure values, in the words of the configuration. Whether it may be done is for others to tell; here
// stands what is left of it where only refusals count.

internal import Plans

/// A decision that came in an event.
public struct ConsentAction: Sendable, Equatable {
    public enum Act: Sendable, Equatable {
        /// All that is granted and refused, in place of what was said before.
        case state(ConsentTerms)
        /// These purposes are refused; the rest of what was said stays.
        case refuse([String])
        /// The same, and what waits of it is destroyed; nil: everything.
        case withdraw([String]?)
        /// The ids are one person's.
        case tie
        /// The ids stand for themselves again.
        case untie
        /// It says nothing; why, without a word of the event.
        case broken(String)
    }

    public var act: Act
    /// Whom it is about: the raw ids, each once.
    public var ids: [[UInt8]]
    /// When the person said so, as the event has it, in nanoseconds since 1970.
    public var time: Int64?

    public init(act: Act, ids: [[UInt8]], time: Int64? = nil) {
        self.act = act
        self.ids = ids
        self.time = time
    }

    /// When it counts as decided, where something was decided before; nil: now. A refusal is never late, whatever the clock says of whoever
    /// sent it.
    public func decided(after last: Int64?) -> Int64? {
        if case .state(let terms) = act, terms.grants { return time }
        return time.map { max($0, last ?? .min) }
    }
}

extension ConsentTerms {
    /// Whether anything is allowed by it.
    public var grants: Bool { level != nil || !granted.isEmpty }
}

/// The levels and purposes of a plan, by name.
public struct ConsentVocabulary: Sendable {
    /// By level as they rise; empty where levels have no purposes.
    private let levels: [(name: String, purposes: [String])]
    private let purposes: [String]
    /// Whether a level is assumed of those of whom nothing is known, be it of some of them.
    public let assumes: Bool

    init(_ plan: ConsentPlan, purposes: [String]) {
        levels = plan.levels.map { ($0.name, $0.purposes ?? []) }
        self.purposes = purposes
        assumes = ([plan.unknown] + (plan.unknownBy?.cases.map(\.value) ?? [])).contains { if case .assume = $0 { true } else { false } }
    }

    /// What holds when of these terms only what they refuse counts; nil: that changes nothing.
    public func lowered(_ known: ConsentTerms?, by said: ConsentTerms) -> ConsentTerms? {
        if known?.isWithdrawn == true { return nil }
        if said.isWithdrawn { return .withdrawn }
        let named = levels.first { $0.name == said.level }?.purposes ?? []
        // Who names a level or purposes refuses the others; who only denies refuses just that.
        let refused = said.grants ? purposes.filter { !named.contains($0) && !said.granted.contains($0) } : []
        let denied = Array(Set(refused + said.denied))
        guard let known else {
            // The lowest level grants nothing, whatever there is.
            let level = said.level == levels.first?.name && said.granted.isEmpty ? said.level : nil
            return denied.isEmpty && level == nil ? nil : ConsentTerms(level: level, denied: denied)
        }
        let terms = ConsentTerms(
            level: lower(known.level, said.level), granted: known.granted, denied: known.denied + denied, version: known.version)
        return terms == known ? nil : terms
    }

    /// What holds of a person when it cannot be written down: what was said, each as far as it is not refused now.
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

    private func lower(_ known: String?, _ said: String?) -> String? {
        func rank(_ name: String) -> Int { levels.firstIndex { $0.name == name } ?? -1 }
        guard let known, let said, rank(said) < rank(known) else { return known }
        return said
    }
}
