// The validated plan: what routes.json says, with names resolved, units read and secrets fetched.
// It promises that nothing in it can still be wrong: whoever holds a plan may act on it without asking again.

public import Document
public import Events
public import Expressions

public struct Plan: Sendable {
    public var keys: [Key] = []
    public var limits = Limits()
    public var messageID = MessageIDPlan()
    public var state = StatePlan()
    public var shutdown = ShutdownPlan()
    /// Where besides its control socket the router can be asked how it is; nil: nowhere.
    public var admin: AdminPlan?
    /// Those that the file names; nil: it names none.
    public var namedSources: [SourcePlan]?
    public var consent: ConsentPlan?
    public var providers: [ProviderPlan] = []
    public var emits: [EmitPlan] = []
    public var routes: [RoutePlan] = []
    /// What no output may show.
    public var hidden = HiddenTexts()

    public init() {}
}

/// Bytes that never show: not in messages, not in `check`, not in a debugger's summary.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    public let bytes: [UInt8]
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public var description: String { HiddenTexts.mask }
    public var debugDescription: String { description }
}

/// A named key of `keys`, for hashing.
public struct Key: Sendable {
    public var name: String
    public var secret: Secret
    public init(name: String, secret: Secret) {
        self.name = name
        self.secret = secret
    }
}

public struct Limits: Sendable, Equatable {
    /// The longest line that is read; a longer one is skipped.
    public var line = 16_000_000
    /// How deep objects and lists may nest.
    public var depth = 512
    /// The most bytes of events on disk, of all lanes together; nil: as much as each of them may.
    public var disk: Int?
    /// How many bytes of the disk that the state folder is on stay free.
    public var diskFree = 100_000_000
    public init() {}
}

/// What is kept in the state folder.
public struct StatePlan: Sendable, Equatable {
    /// The key under which events are encrypted there, an index into `Plan.keys`; nil: they are not.
    public var encrypt: Int?
    public init() {}
}

public struct ShutdownPlan: Sendable, Equatable {
    /// How long a router that is told to end may go on delivering.
    public var deadline = Duration.seconds(10)
    public init() {}
}

/// Where those who look after a router can ask it, and change nothing.
public struct AdminPlan: Sendable, Equatable {
    public var listen = ListenAddress.tcp(host: "127.0.0.1", port: 9464)
    /// Whether others on the network may look.
    public var isOpen = false
    public init() {}
}

/// What becomes of the `messageId` of events.
public struct MessageIDPlan: Sendable, Equatable {
    /// Whether events that have none get one; nil: when some provider can make use of it.
    public var add: Bool?
    /// nil: every event counts, however often it comes.
    public var deduplicate: Deduplication?
    public init() {}

    /// An event whose id came before, within this time and among so many, is a duplicate.
    public struct Deduplication: Sendable, Equatable {
        public var window = Duration.seconds(600)
        public var most = 1_000_000
        public init() {}
    }
}

extension Plan {
    /// Whether events without a `messageId` get one.
    public var addsMessageIDs: Bool { messageID.add ?? providers.contains { $0.deduplicates || $0.delivery.queue.disk != nil } }
}

public struct SourcePlan: Sendable, Equatable {
    public var name: String
    public var plugin: String
    /// Of the plugin `http`.
    public var http: HTTPSourcePlan?
    /// Of the plugin `file`.
    public var file: FileSourcePlan?
    /// What events from here may do to the ledger; nil: they may refuse, and no more. A key may have more.
    public var consent: ConsentRight?
    public init(name: String, plugin: String) {
        self.name = name
        self.plugin = plugin
    }

    /// Whether it is standard input.
    public var isInput: Bool { plugin == "stdin" }
}

extension Plan {
    /// Where events come from: standard input when nothing else is said.
    public var sources: [SourcePlan] { namedSources ?? [SourcePlan(name: "stdin", plugin: "stdin")] }
    /// Whether events come from standard input alone.
    public var readsOnlyInput: Bool { sources.allSatisfy(\.isInput) }
}

// MARK: - Consent

public struct ConsentPlan: Sendable {
    public struct Level: Sendable, Equatable {
        public var name: String
        /// The purposes it needs; nil in the list form, whose levels have none.
        public var purposes: [String]?
        public init(name: String, purposes: [String]?) {
            self.name = name
            self.purposes = purposes
        }
    }
    /// What becomes of an event of whose subjects nothing is known.
    public enum Unknown: Sendable, Equatable, BitwiseCopyable {
        case deny
        /// An index into `levels`.
        case assume(Int)
        /// It waits, within the bounds of `hold`, for what its subjects will say.
        case hold
    }

    /// In rising order, at least one.
    public var levels: [Level] = []
    /// Where the ids of an event's subjects stand.
    public var subject: [Path] = []
    /// What holds of subjects of whom nothing is known.
    public var unknown = Unknown.deny
    /// The same by a member of the event; `unknown` is for events that it says nothing of.
    public var unknownBy: UnknownByPlan?
    /// How much may be held; means nothing where nothing is.
    public var hold = HoldPlan()
    /// Whether some events of unknown subjects wait.
    public var isHolding: Bool { unknown == .hold || unknownBy?.cases.contains { $0.value == .hold } ?? false }
    /// The purposes that Global Privacy Control (`context.gpc: true`) refuses; nil: all of them.
    public var gpc: [String]?
    /// Consent to an older text counts as unknown; nil: to any text counts.
    public var minimumVersion: String?
    /// Where it is kept who consented to what; nil: it is kept nowhere, and events speak for themselves.
    public var ledger: LedgerPlan?
    /// What consent that others write means.
    public var map = ConsentMapPlan()
    /// Members that demand more than their event: the path and the index of the level.
    public var fields: [(path: Path, level: Int)] = []
    /// Events that demand more than their route: a glob on the name and the index of the level.
    public var events: [(glob: Glob, level: Int)] = []

    public init() {}
}

/// How much may wait for its subjects' consent, and for how long.
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
    /// In all.
    public var total = Bounds(events: 100_000, bytes: 100_000_000)
    /// Of one subject.
    public var subject = Bounds(events: 1000, bytes: 1_000_000)
    public init() {}
}

/// What holds of the unknown, by the text of a member.
public struct UnknownByPlan: Sendable {
    public var path: Path
    public var cases: [(key: String, value: ConsentPlan.Unknown)]
    public init(path: Path, cases: [(key: String, value: ConsentPlan.Unknown)]) {
        self.path = path
        self.cases = cases
    }
}

/// Under which keys the ledger knows people: indices into `Plan.keys`.
public struct LedgerPlan: Sendable, Equatable {
    public var key = 0
    /// Those that it was written under before.
    public var previous: [Int] = []
    public init(key: Int = 0, previous: [Int] = []) {
        self.key = key
        self.previous = previous
    }
}

/// What events from somewhere may do to the ledger.
public enum ConsentRight: String, Sendable, Equatable, CaseIterable {
    /// Grant, refuse, withdraw, tie and untie.
    case write
}

/// What a route demands. Without a consent section there is none, and the gate is off.
public struct ConsentDemand: Sendable, Equatable {
    /// An index into `ConsentPlan.levels`. 0, the lowest, passes everyone when `purposes` is empty.
    public var level: Int
    public var purposes: [String]
    public init(level: Int, purposes: [String] = []) {
        self.level = level
        self.purposes = purposes
    }
}

// MARK: - Routes

public struct RoutePlan: Sendable {
    /// For people; what came from the environment or a file is masked.
    public var name: String
    /// Any of these globs on the event's name; empty: every event, also one without a name.
    public var events: [Glob] = []
    public var match: [MatchPlan] = []
    public var not = ExclusionPlan()
    /// Whether it takes only what no route before it took.
    public var takesRest = false
    /// What must hold of the event.
    public var condition: Expression?
    public var consent: ConsentDemand?
    public var sample: SamplePlan?
    public var session: SessionPlan?
    /// How old its events may get while they wait or lie among the dead letters; nil: any age.
    public var retention: Duration?
    public var transforms: [TransformPlan] = []
    /// Indices into `Plan.providers`.
    public var providers: [Int] = []

    public init(name: String) { self.name = name }
}

/// The member at `path` equals one of the values.
public struct MatchPlan: Sendable {
    public var path: Path
    public var anyOf: [Scalar]
    public init(path: Path, anyOf: [Scalar]) {
        self.path = path
        self.anyOf = anyOf
    }
}

/// What keeps an event out, each glob and each member by itself.
public struct ExclusionPlan: Sendable {
    public var events: [Glob] = []
    public var match: [MatchPlan] = []
    public init(events: [Glob] = [], match: [MatchPlan] = []) {
        self.events = events
        self.match = match
    }
}

public enum Scalar: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number as the file writes it; compared by value, exactly.
    case number(String)
    case string(String)
}

public enum TransformPlan: Sendable {
    case drop([Path])
    /// Each member with its new value, as JSON text.
    case set([(path: Path, json: String)])
    /// HMAC-SHA-256 under the key at this index of `Plan.keys`, written as 64 hex digits.
    case hash([Path], key: Int)
    /// Another operation, each on the event as the ones before have left it.
    case step(StepPlan)
}

// MARK: - Providers

public struct ProviderPlan: Sendable {
    public var name: String
    /// The name of the module, `[a-z0-9_-]+`.
    public var plugin: String
    /// The module's own settings as one JSON object: checked, defaults filled in, secrets fetched. Never printed.
    public var settings: Secret
    public var delivery = DeliveryPlan()
    /// Whether its module tells by the `messageId` what it has got already.
    public var deduplicates = false
    /// The module runs in a process of its own; nil: in this one.
    public var isolation: IsolationPlan?
    /// Where the file has it, for what its module says of the settings; nil in a plan that no file made.
    public var place: ConfigurationPlace?

    public init(name: String, plugin: String, settings: Secret) {
        self.name = name
        self.plugin = plugin
        self.settings = settings
    }
}

/// What the process of an isolated module may use.
public struct IsolationPlan: Sendable, Equatable {
    public struct Variable: Sendable, Equatable {
        public var name: String
        public var value: String
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }
    /// The most bytes of address space.
    public var memory = 2_000_000_000
    /// Variables of its environment, beside the few that it has of the router's.
    public var environment: [Variable] = []
    public init() {}
}

public struct DeliveryPlan: Sendable {
    public struct Batch: Sendable, Equatable {
        public var events = 500
        public var bytes = 1_000_000
        public var wait = Duration.seconds(1)
        /// What the module takes at most: an event that is larger by itself is given up. nil: it takes any.
        public var largest: Int?
        public init() {}
    }
    public struct Queue: Sendable, Equatable {
        public enum Full: String, Sendable, CaseIterable {
            case block
            /// To disk, when memory is full.
            case spill
            case dropNewest = "drop_newest"
            case dropOldest = "drop_oldest"
        }
        public enum Durability: String, Sendable, CaseIterable {
            /// What is stored survives the end of the process, however it ends.
            case process
            /// It survives a loss of power too.
            case power
        }
        public var memory = 4_000_000
        /// The most bytes of events on disk; nil: the lane keeps nothing there.
        public var disk: Int?
        public var durability = Durability.process
        public var full = Full.block
        public init() {}
    }
    public struct Retry: Sendable, Equatable {
        public var first = Duration.milliseconds(500)
        public var most = Duration.seconds(60)
        /// How long a batch is tried before it goes to the dead letters.
        public var total = Duration.seconds(24 * 3600)
        public init() {}
    }

    /// What becomes of events that were given up and cannot be kept as dead letters.
    public enum DeadLetters: String, Sendable, CaseIterable {
        /// They are lost, counted and told.
        case lose
        /// The lane waits until they are kept.
        case block
    }

    public var batch = Batch()
    public var queue = Queue()
    public var retry = Retry()
    public var deadLetters = DeadLetters.lose
    /// How many failures in a row open the breaker, so that one batch at a time probes.
    public var breaker = 5
    /// How long a call of the module may take; then its outcome is unknown. Zero: for ever.
    public var deadline = Duration.seconds(60)
    /// How many calls that took longer the module may still hold before its lane stops.
    public var abandon = 3
    /// How old events may get while they wait or lie among the dead letters; nil: any age.
    public var retention: Duration?
    /// Events whose name matches do not wait for their batch to fill.
    public var immediate: [Glob] = []
    /// No later batch passes a retry.
    public var ordered = false
    public init() {}
}
