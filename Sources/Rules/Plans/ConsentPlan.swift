// The section `consent` of a valid configuration, and what a route demands of it.

public import Events

public struct ConsentPlan: Sendable {
    public struct Level: Sendable, Equatable {
        public var name: String
        /// The purposes that the level needs. It is nil in the list form, whose levels have no purposes.
        public var purposes: [String]?
        public init(name: String, purposes: [String]?) {
            self.name = name
            self.purposes = purposes
        }
    }
    /// The policy for an event if nothing is known of its subjects.
    public enum Unknown: Sendable, Equatable, BitwiseCopyable {
        case deny
        /// Assume the level at this index of `levels`.
        case assume(Int)
        /// Hold the event, within the bounds of `hold`, until its subjects state their consent.
        case hold
    }

    /// The levels in rising order, at least one.
    public var levels: [Level] = []
    /// The members that hold the ids of an event's subjects.
    public var subject: [Path] = []
    /// The policy for unknown subjects.
    public var unknown = Unknown.deny
    /// The policies by a member of the event. `unknown` decides for events that this does not cover.
    public var unknownBy: UnknownByPlan?
    /// The bounds of held events. They are not used if no event is held.
    public var hold = HoldPlan()
    /// True if events of unknown subjects may be held.
    public var isHolding: Bool { unknown == .hold || unknownBy?.cases.contains { $0.value == .hold } ?? false }
    /// The purposes that Global Privacy Control (`context.gpc: true`) refuses. It refuses all purposes if this is nil.
    public var gpc: [String]?
    /// Consent to an older version of the text counts as unknown. If it is nil, consent to any version counts.
    public var minimumVersion: String?
    /// The ledger that keeps consent on record. If it is nil, there is no ledger, and only events say what their subjects consent to.
    public var ledger: LedgerPlan?
    /// The key that encrypts the evidence of decisions in events. If it is nil, no evidence is kept.
    public var evidence: Int?
    /// When providers are asked to erase.
    public var erasures = ErasurePlan()
    /// The meaning of consent in the formats of other platforms.
    public var map = ConsentMapPlan()
    /// The members that demand more than their event: the path and the index of the level.
    public var fields: [(path: Path, level: Int)] = []
    /// The events that demand more than their route: a glob on the name and the index of the level.
    public var events: [(glob: Glob, level: Int)] = []

    public init() {}
}

/// The bounds of events that wait for the consent of their subjects.
public struct HoldPlan: Sendable, Equatable {
    public struct Bounds: Sendable, Equatable {
        public var events: Int
        public var bytes: Int
        public init(events: Int, bytes: Int) {
            self.events = events
            self.bytes = bytes
        }
    }
    public var time = Duration.seconds(24 * 3600)
    /// The bounds of all held events together.
    public var total = Bounds(events: 100_000, bytes: 100_000_000)
    /// The bounds of the held events of one subject.
    public var subject = Bounds(events: 1000, bytes: 1_000_000)
    public init() {}
}

/// The policies for unknown subjects, by the text of a member.
public struct UnknownByPlan: Sendable {
    public var path: Path
    public var cases: [(key: String, value: ConsentPlan.Unknown)]
    public init(path: Path, cases: [(key: String, value: ConsentPlan.Unknown)]) {
        self.path = path
        self.cases = cases
    }
}

/// The keys under which the ledger hashes ids, as indices into `Plan.keys`.
public struct LedgerPlan: Sendable, Equatable {
    public var key = 0
    /// The keys under which ids were hashed before.
    public var previous: [Int] = []
    public init(key: Int = 0, previous: [Int] = []) {
        self.key = key
        self.previous = previous
    }
}

/// The right of events of a source or a key to change the ledger.
public enum ConsentRight: String, Sendable, Equatable, CaseIterable {
    /// They may grant, refuse, withdraw, tie and untie.
    case write
}

/// The consent that a route demands. Without a consent section no route demands any, and the gate is off.
public struct ConsentDemand: Sendable, Equatable {
    /// An index into `ConsentPlan.levels`. The lowest level, 0, admits everyone if `purposes` is empty.
    public var level: Int
    public var purposes: [String]
    public init(level: Int, purposes: [String] = []) {
        self.level = level
        self.purposes = purposes
    }
}
