// The only place where an event is admitted. It compares the demand of a route with the consent state of the event, and makes an
// `Admitted` if the state covers the demand. A parcel takes no event without an `Admitted`, so no event reaches a provider without passing
// the gate. In doubt it denies: if something is demanded, an unknown, broken, unreadable or insufficient state is not admitted.

internal import Events

/// A set of the plan's purposes, in words of 64 bits. The holder must know the number of words.
public typealias Purposes = UnsafePointer<UInt64>

/// The demand of a route on an event.
public struct Demand: BitwiseCopyable {
    /// An index into the plan's levels; 0 demands nothing.
    public var level: Int
    /// It is nil if no purpose is demanded.
    public var purposes: Purposes?

    public init(level: Int = 0, purposes: Purposes? = nil) {
        self.level = level
        self.purposes = purposes
    }

    @inlinable @inline(__always) public var isEmpty: Bool { level == 0 && purposes == nil }
}

/// The consent of an event's subjects.
public struct ConsentState: BitwiseCopyable {
    public enum Kind: UInt8, BitwiseCopyable {
        case known, unknown
        /// The event carries consent that is broken.
        case broken
        /// The ledger cannot be read at the moment.
        case unreadable
    }
    public var kind: Kind
    /// The level. It is 0 unless the state is known or assumed.
    public var level: Int
    public var granted: Purposes

    public init(kind: Kind, level: Int, granted: Purposes) {
        self.kind = kind
        self.level = level
        self.granted = granted
    }
}

/// The reason why the gate denied an event. The raw values are the words that accounts and metrics use.
public enum Denial: String, Hashable, Sendable, CaseIterable {
    /// Nothing is known of the subject, and the configuration denies the unknown.
    case unknown
    /// The level is lower than what is demanded.
    case level
    /// A demanded purpose was not granted, or was refused.
    case purpose
    /// The event carries consent in a known shape that is broken.
    case broken
    /// The ledger cannot be read.
    case unreadable
    /// The clock is behind the ledger, so the latest decision cannot be known.
    case clock
    /// The event had to be held, and the configured limit was reached.
    case full
    /// The event had to be held, and could not be stored.
    case unstored
}

/// The settings of the decision besides the demand: the width of a set of purposes, and the members of events that demand levels of their
/// own.
public struct AdmissionRules: BitwiseCopyable {
    /// The number of words in a set of purposes.
    @usableFromInline let width: Int
    /// True if a member of events demands a level of its own.
    public let cutsFields: Bool
    /// For each level of an event, the highest level that is demanded by a member that the event keeps.
    @usableFromInline let keeps: UnsafeBufferPointer<Int>
    /// For each level, its entry level.
    @usableFromInline let entryLevels: UnsafeBufferPointer<UInt8>

    public init(width: Int, cutsFields: Bool, keeps: UnsafeBufferPointer<Int>, entryLevels: UnsafeBufferPointer<UInt8>) {
        precondition(width > 0 && keeps.count == entryLevels.count, "a level has no entry level")
        self.width = width
        self.cutsFields = cutsFields
        self.keeps = keeps
        self.entryLevels = entryLevels
        assert(keeps.allSatisfy { (0..<entryLevels.count).contains($0) }, "a kept member demands a level that the plan lacks")
        assert(entryLevels.allSatisfy { $0 <= EntryLevel.highest }, "an entry level has more than seven bits")
    }
}

/// Permission to send one event by one route.
public struct Admitted: ~Copyable {
    /// The level of the event's state. Members that demand more must be cut. It is 0 if no member demands a level of its own.
    public let stateLevel: Int
    /// The level for the event's entry. The subjects must still have it when the event is handed over.
    @usableFromInline let entryLevel: UInt8

    @usableFromInline init(stateLevel: Int = 0, entryLevel: UInt8 = EntryLevel.none) {
        self.stateLevel = stateLevel
        self.entryLevel = entryLevel
        assert(entryLevel <= EntryLevel.highest, "an entry level has more than seven bits")
    }
}

public enum AdmissionDecision: ~Copyable {
    case admitted(Admitted)
    /// Nothing is known of the event's subjects.
    case unknown
    case denied(Denial)
}

public enum Admission {
    /// Compares the demand with the state. The state is requested only if it matters. `rules` is nil if the configuration has no consent
    /// section; then every event is admitted. `kept` gets the highest level that is demanded by a member that the state allows to keep. It
    /// returns the level that the members demand that this event does keep. By default the event counts as having all of them.
    @inlinable @inline(__always) public static func decide(
        _ demand: Demand, _ rules: UnsafePointer<AdmissionRules>?, kept: (_ most: Int) -> Int = { $0 }, state: () -> ConsentState
    ) -> AdmissionDecision {
        guard let rules = rules?.pointee, !demand.isEmpty || rules.cutsFields else { return .admitted(Admitted()) }
        let state = state()
        if !demand.isEmpty {
            switch state.kind {
            case .broken: return .denied(.broken)
            case .unreadable: return .denied(.unreadable)
            case .unknown: return .unknown
            case .known: break
            }
            if state.level < demand.level { return .denied(.level) }
            if let demanded = demand.purposes {
                for word in 0..<rules.width where demanded[word] & ~state.granted[word] != 0 { return .denied(.purpose) }
            }
        }
        assert((0..<rules.entryLevels.count).contains(demand.level), "a route demands a level that the plan lacks")
        guard rules.cutsFields else { return .admitted(Admitted(entryLevel: rules.entryLevels[demand.level])) }
        assert((0..<rules.keeps.count).contains(state.level), "a state has a level that the plan lacks")
        let least = max(demand.level, kept(rules.keeps[state.level]))
        assert(rules.entryLevels.indices.contains(least), "a member demands a level that the plan lacks")
        return .admitted(Admitted(stateLevel: state.level, entryLevel: rules.entryLevels[least]))
    }
}
