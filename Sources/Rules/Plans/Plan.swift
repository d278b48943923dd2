// The validated plan: the contents of routes.json with names resolved, units converted and secrets fetched. It promises that everything in
// it is valid: code that holds a plan never checks it again.

public import Document
public import Editing
public import Events
public import Expressions
public import TrackingPlans

public struct Plan: Sendable {
    public var keys: [Key] = []
    public var limits = Limits()
    public var messageID = MessageIDPlan()
    public var state = StatePlan()
    public var shutdown = ShutdownPlan()
    /// The address for health, metrics and status, in addition to the control socket. It is nil if there is none.
    public var admin: AdminPlan?
    /// The sources that the file names. It is nil if the file has no section `sources`.
    public var namedSources: [SourcePlan]?
    public var audit: AuditPlan?
    /// The text of the file. It is nil without an audit trail.
    public var text: PlanText?
    public var consent: ConsentPlan?
    public var providers: [ProviderPlan] = []
    public var emits: [EmitPlan] = []
    /// The plan that events must satisfy. It is nil if there is none.
    public var trackingPlan: TrackingPlan?
    public var routes: [RoutePlan] = []
    /// The texts that no output may show.
    public var hidden = HiddenTexts()

    public init() {}

    /// The names of the providers to which a route leads.
    public var receivers: Set<String> { Set(routes.flatMap(\.providers).map { providers[$0].name }) }
}

/// Bytes that are never shown: not in messages, not in `check`, not in a debugger's summary.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    public let bytes: [UInt8]
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public var description: String { HiddenTexts.mask }
    public var debugDescription: String { description }
}

/// A named key of `keys`.
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
    /// The depth to which objects and lists may nest.
    public var depth = 512
    /// The most bytes of events on disk, of all lanes together. If it is nil, only the limits of the lanes count.
    public var disk: Int?
    /// The bytes that stay free on the disk of the state folder.
    public var diskFree = 100_000_000
    public init() {}
}

/// The settings of events in the state folder.
public struct StatePlan: Sendable, Equatable {
    /// The key under which events are encrypted, as an index into `Plan.keys`. If it is nil, they are not encrypted.
    public var encrypt: Int?
    public init() {}
}

public struct ShutdownPlan: Sendable, Equatable {
    /// The time for which the router may continue to deliver after it is told to stop.
    public var deadline = Duration.seconds(10)
    public init() {}
}

/// The address at which operators can read health, metrics and status. They can change nothing there without a session of the page.
public struct AdminPlan: Sendable, Equatable {
    public var listen = ListenAddress.tcp(host: "127.0.0.1", port: 9464)
    /// True if others on the network may read it.
    public var isOpen = false
    /// True if it has a page for a browser.
    public var hasPage = false
    /// The origins at which browsers see the page in addition to the address, such as `https://router.example` behind a proxy.
    public var origins: [String] = []
    public init() {}
}

/// The rules for the `messageId` of events.
public struct MessageIDPlan: Sendable, Equatable {
    /// True if events without a `messageId` get one. If it is nil, they get one if some provider can use it.
    public var add: Bool?
    /// The rule for duplicates. If it is nil, no event is a duplicate, however often it comes.
    public var deduplicate: Deduplication?
    public init() {}

    /// An event is a duplicate if its id came before, within `window` and among the last `most` ids.
    public struct Deduplication: Sendable, Equatable {
        public var window = Duration.seconds(600)
        public var most = 1_000_000
        public init() {}
    }
}

extension Plan {
    /// True if events without a `messageId` get one.
    public var addsMessageIDs: Bool { messageID.add ?? providers.contains { $0.deduplicates || $0.delivery.queue.disk != nil } }
}

public struct SourcePlan: Sendable, Equatable {
    public var name: String
    public var plugin: String
    /// The settings of the plugin `http`.
    public var http: HTTPSourcePlan?
    /// The settings of the plugin `file`.
    public var file: FileSourcePlan?
    /// The settings of a plugin that is a module.
    public var module: ModuleSourcePlan?
    /// The right of its events to write the ledger. If it is nil, they can only refuse consent. A key of the source may have the right.
    public var consent: ConsentRight?
    public init(name: String, plugin: String) {
        self.name = name
        self.plugin = plugin
    }

    /// True if it is standard input.
    public var isInput: Bool { plugin == "stdin" }
}

extension Plan {
    /// The sources of events: standard input alone if the file names none.
    public var sources: [SourcePlan] { namedSources ?? [SourcePlan(name: "stdin", plugin: "stdin")] }
    /// True if events come from standard input alone.
    public var readsOnlyInput: Bool { sources.allSatisfy(\.isInput) }
    /// True if all events come from sources of modules, which may end by themselves.
    public var readsOnlyModules: Bool { sources.allSatisfy { $0.module != nil } }
}

// MARK: - Routes

public struct RoutePlan: Sendable {
    /// The name for people. Text from the environment or from a file is masked.
    public var name: String
    /// The globs on the event's name, one of which must match. If there is none, every event matches, even one without a name.
    public var events: [Glob] = []
    public var match: [MatchPlan] = []
    public var not = ExclusionPlan()
    /// True if it takes only events that no earlier route took.
    public var takesRest = false
    /// The expression that must be true for the event.
    public var condition: Expression?
    public var consent: ConsentDemand?
    public var sample: SamplePlan?
    public var session: SessionPlan?
    /// The greatest age of its events while they wait or are dead letters. It is nil if there is no limit.
    public var retention: Duration?
    public var transforms: [any Step] = []
    /// Indices into `Plan.providers`.
    public var providers: [Int] = []
    /// True if `match` names the type of the event, so that the route can take events of type `consent` and `reset` beside a ledger.
    public var matchesType: Bool { match.contains { $0.path == Path(keys: ["type"]) } }

    public init(name: String) { self.name = name }
}

/// The condition that the member at `path` equals one of the values.
public struct MatchPlan: Sendable, Equatable {
    public var path: Path
    public var anyOf: [Scalar]
    public init(path: Path, anyOf: [Scalar]) {
        self.path = path
        self.anyOf = anyOf
    }
}

/// The conditions that exclude an event. One matching glob or member is enough, or the expression if it is true.
public struct ExclusionPlan: Sendable {
    public var events: [Glob] = []
    public var match: [MatchPlan] = []
    public var condition: Expression?
    public var isEmpty: Bool { events.isEmpty && match.isEmpty && condition == nil }
    public init(events: [Glob] = [], match: [MatchPlan] = []) {
        self.events = events
        self.match = match
    }
}

public enum Scalar: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number as the file writes it. It is compared by its exact value.
    case number(String)
    case string(String)
}

// MARK: - Providers

public struct ProviderPlan: Sendable {
    /// A setting of the module as people read it: its name, such as `rotate.bytes`, and its value as the file writes it.
    public struct Setting: Sendable, Equatable {
        public var name: String
        public var text: String
        public init(name: String, text: String) {
            self.name = name
            self.text = text
        }
    }

    public var name: String
    /// The name of the module, `[a-z0-9_-]+`.
    public var plugin: String
    /// The module's own settings as one JSON object: checked, with defaults filled in and secrets fetched. It is never printed.
    public var settings: Secret
    /// The module's own settings as `check` shows them, without secrets.
    public var shownSettings: [Setting] = []
    public var delivery = DeliveryPlan()
    /// True if its module recognizes a repeated event by its `messageId`.
    public var deduplicates = false
    /// The isolation of the module in a process of its own. If it is nil, the module runs in the router's process.
    public var isolation: IsolationPlan?
    public var shape = ShapePlan()
    /// The place in the file, for faults that the module finds in the settings. It is nil in a plan that was not read from a file.
    public var place: ConfigurationPlace?

    public init(name: String, plugin: String, settings: Secret) {
        self.name = name
        self.plugin = plugin
        self.settings = settings
    }

    /// How its lane delivers. The host of an isolated module enforces the deadline itself, since it can end the process. So the lane has none.
    /// The limit of the module holds for shaped events, which the lane does not see.
    public var laneDelivery: DeliveryPlan {
        var plan = delivery
        if isolation != nil { plan.deadline = .zero }
        if !shape.isEmpty { plan.batch.largest = nil }
        return plan
    }
}

/// The limits and the environment of the process of an isolated module.
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
    /// Variables of its environment, in addition to the few that it gets from the router's.
    public var environment: [Variable] = []
    public init() {}
}

public struct DeliveryPlan: Sendable {
    public struct Batch: Sendable, Equatable {
        public var events = 500
        public var bytes = 1_000_000
        /// The longest time that an event waits for others. If it is nil, events leave as soon as nothing of the lane is under way.
        public var wait: Duration?
        /// The longest time that an event waits, if `wait` is nil, while something else of the lane is under way.
        public static let longestWait = Duration.seconds(1)
        /// The most bytes that the module accepts. A single event that is larger is given up. It is nil if there is no limit.
        public var largest: Int?
        public init() {}
    }
    public struct Queue: Sendable, Equatable {
        public enum Full: String, Sendable, CaseIterable {
            case block
            /// Events go to disk if memory is full.
            case spill
            case dropNewest = "drop_newest"
            case dropOldest = "drop_oldest"
        }
        public enum Durability: String, Sendable, CaseIterable {
            /// Stored events survive the end of the process, however it ends.
            case process
            /// Stored events survive a loss of power too.
            case power
        }
        public var memory = 4_000_000
        /// The most bytes of events on disk. If it is nil, the lane keeps nothing on disk.
        public var disk: Int?
        public var durability = Durability.process
        public var full = Full.block
        public init() {}
    }
    public struct Retry: Sendable, Equatable {
        public var first = Duration.milliseconds(500)
        public var most = Duration.seconds(60)
        /// The time for which a batch is tried before it goes to the dead letters.
        public var total = Duration.seconds(24 * 3600)
        public init() {}
    }

    /// The policy for events that were given up and cannot be kept as dead letters.
    public enum DeadLetters: String, Sendable, CaseIterable {
        /// They are lost; they are counted and reported.
        case lose
        /// The lane waits until they are kept.
        case block
    }

    public var batch = Batch()
    public var queue = Queue()
    public var retry = Retry()
    public var deadLetters = DeadLetters.lose
    /// The number of failures in a row that open the breaker. Then one batch at a time probes the provider.
    public var breaker = 5
    /// The longest time for a call of the module. After that its outcome is unknown. Zero means no limit.
    public var deadline = Duration.seconds(60)
    /// The lane stops when this many calls have exceeded the deadline and have not returned.
    public var abandon = 3
    /// The greatest age of events while they wait or are dead letters. It is nil if there is no limit.
    public var retention: Duration?
    /// Events whose name matches do not wait for their batch to fill.
    public var immediate: [Glob] = []
    /// True if later batches wait until a retry has ended.
    public var ordered = false
    public init() {}
}
