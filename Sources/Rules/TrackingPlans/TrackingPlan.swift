// A tracking plan: which events there are, in which versions, what their members must be, and what happens to an event that violates it. It is
// read from a file of its own (`PlanFile.swift`) and compiled once; all workers share it. It never changes afterwards.

public import Events
internal import Expressions
internal import JSONSchema

/// What happens to an event that violates the plan. The raw values are the words of the file.
public enum ViolationAction: String, Sendable, CaseIterable, BitwiseCopyable {
    /// It is counted and passes.
    case count
    /// It passes with a member that says what it violates.
    case mark
    /// The offending members are removed. It is rejected if that does not suffice.
    case strip
    /// It goes to the dead letters.
    case reject
}

public final class TrackingPlan: @unchecked Sendable {
    /// The member that says the version of an event, unless the plan names another one.
    public static let defaultVersion = Path(keys: ["context", "schema_version"])
    /// The member that tells what a marked event violates.
    public static let mark = Path(keys: ["context", "switchyard", "violation"])
    static let name = Path(keys: ["event"])
    static let type = Path(keys: ["type"])
    /// The object whose members the scanner should list, so that the check need not look for their ends.
    public static let properties = Path(keys: ["properties"])
    static let traits = Path(keys: ["traits"])

    /// An event of the plan, for people.
    public struct Event: Sendable {
        public var name: String
        public var owner: String?
        public var description: String?
        public var action: ViolationAction
        /// The versions that have schemas of their own.
        public var versions: [String]
    }

    /// A member that is private.
    public struct PrivateMember: Sendable, Hashable {
        /// The name of its event.
        public var event: String
        public var path: Path
    }

    public let events: [Event]
    public let privateMembers: [PrivateMember]
    /// What happens to events that the plan does not name. It is nil if they pass.
    public let unplanned: ViolationAction?
    /// The pattern that the names of events match. It is nil if there is no rule.
    public let namePattern: String?
    /// The members that the checker reads.
    public let paths: [Path]

    let version: Path
    let nameRule: CompiledPattern?
    /// What happens to an event whose name breaks the rule and that the plan does not name.
    let action: ViolationAction
    let schema: JSONSchema
    /// Finds the rule for events of a name.
    let rules: EventRules
    /// The members that must be there, whose places `EventRule.required` has as indices.
    let required: [Path]
    private let store: Store

    init(
        _ draft: PlanDraft, events: [Event], rules: [EventRule], required: [Path], privateMembers: [PrivateMember],
        nameRule: CompiledPattern?, schema: JSONSchema, store: Store
    ) {
        self.events = events
        self.rules = EventRules(rules, store: store)
        self.required = required
        self.privateMembers = privateMembers
        self.schema = schema
        self.store = store
        self.nameRule = nameRule
        namePattern = draft.names
        unplanned = draft.unplanned
        action = draft.action
        version = draft.version
        paths =
            [TrackingPlan.name, TrackingPlan.type, TrackingPlan.properties, TrackingPlan.traits, TrackingPlan.mark, draft.version]
            + required
    }
}

/// The rules by the names of their events.
struct EventRules: BitwiseCopyable {
    private let rules: UnsafePointer<EventRule>
    /// The indices of the rules. -1 is a place without a rule.
    private let table: UnsafePointer<Int32>
    private let mask: Int

    init(_ rules: [EventRule], store: Store) {
        var size = 16
        while size < rules.count * 4 { size *= 2 }
        mask = size - 1
        var table = [Int32](repeating: -1, count: size)
        for (index, rule) in rules.enumerated() {
            var place = EventRules.hash(rule.name) & mask
            while table[place] >= 0 { place = (place + 1) & mask }
            table[place] = Int32(index)
        }
        self.rules = store.list(rules).baseAddress!
        self.table = store.list(table).baseAddress!
    }

    /// Every byte of the name decides, eight at a time, so that the names of a large plan that begin and end alike have places of their own.
    @inline(__always) private static func hash(_ name: ByteRun) -> Int {
        let factor: UInt64 = 0x9e37_79b9_7f4a_7c15
        var hash = UInt64(truncatingIfNeeded: name.count)
        if name.count >= 8 {
            var i = 0
            while i < name.count &- 8 {
                hash = (hash ^ Words.load(name.base + i)) &* factor
                hash ^= hash &>> 32
                i &+= 8
            }
            hash ^= Words.load(name.base + (name.count &- 8))
        } else {
            for byte in name.bytes { hash = hash &<< 8 ^ UInt64(byte) }
        }
        hash = hash &* factor
        return Int(truncatingIfNeeded: hash &>> 32)
    }

    /// Returns the rule for events of this name, or nil.
    @inline(__always) func find(_ name: ByteRun) -> UnsafePointer<EventRule>? {
        var place = EventRules.hash(name) & mask
        while table[place] >= 0 {
            let rule = rules + Int(table[place])
            if rule.pointee.name == name { return rule }
            place = (place &+ 1) & mask
        }
        return nil
    }
}

/// What the plan demands of the events of one name.
struct EventRule: BitwiseCopyable {
    let name: ByteRun
    let action: ViolationAction
    /// The schemas for events without a version.
    let plain: SchemaRoots
    let versions: UnsafeBufferPointer<VersionRule>
    /// Indices into `TrackingPlan.required`.
    let required: UnsafeBufferPointer<Int>
}

struct VersionRule: BitwiseCopyable {
    let name: ByteRun
    let roots: SchemaRoots
}

/// The roots of the schemas of `properties` and `traits`. -1 means that there is none.
struct SchemaRoots: BitwiseCopyable {
    var properties = -1
    var traits = -1
    var isEmpty: Bool { properties < 0 && traits < 0 }
}
