// The description of a module, after it was read. Configuration checks routes.json against it, and the host prints it.

/// The installed modules. The plugin host implements it; tests answer from memory.
public protocol ModuleCatalog {
    /// Returns the description of the module, or nil if there is no module of that name.
    func description(of module: String) throws(ModuleFault) -> ModuleDescription?
    /// Returns the descriptions of several modules, each named once. If a description takes time, all of them are made at once.
    func descriptions(of modules: [String]) -> [String: Result<ModuleDescription?, ModuleFault>]
    /// The names of all modules that are installed, for suggestions.
    var names: [String] { get }
}

extension ModuleCatalog {
    public func descriptions(of modules: [String]) -> [String: Result<ModuleDescription?, ModuleFault>] {
        var result: [String: Result<ModuleDescription?, ModuleFault>] = [:]
        for module in modules { result[module] = Result { () throws(ModuleFault) in try description(of: module) } }
        return result
    }
}

public struct ModuleDescription: Sendable {
    public struct Limits: Sendable, Equatable {
        /// The most events in one batch. It is nil if there is no limit.
        public var events: Int?
        /// The most bytes in one batch. It is nil if there is no limit.
        public var bytes: Int?
        public init() {}
    }

    public var name: String
    public var version: String
    public var summary: String
    /// The schema of the settings, which are always an object.
    public var settings: SettingsSchema.ObjectRules
    public var limits = Limits()
    /// The most batches that may be sent at once.
    public var concurrency = 1
    public var canErase = false
    /// What a person does to erase someone at the destination without the module. It is empty if the module does not say it.
    public var byHand = ""
    /// True if its destination recognizes a repeated event by its `messageId`.
    public var deduplicates = false
    /// True if the module itself writes to the router's standard output or standard error. Then it keeps both when it is isolated.
    public var writesToStreams = false
    /// True if the module asks before each request begins. Otherwise all events of a delivery have begun when it is handed over.
    public var asks = false
    /// The delivery of a lane of this module, unless routes.json says otherwise.
    public var delivery = DeliveryPlan()
    /// Where the members of an event go, and what of an event is refused or cut. They are printed and compared, and nothing acts on them.
    public var mapping: [MappingRow] = []
    public var refuses: [LimitRow] = []
    public var cuts: [LimitRow] = []
    /// False if the module is only a source. Then everything above but the name, the version and the summary has no meaning.
    public var offersProvider = true
    /// The source that the module offers. It is nil if it offers none.
    public var source: SourceDescription?

    /// Where a member of an event goes. The texts are in one line each, without control characters.
    public struct MappingRow: Sendable, Equatable {
        public var from = ""
        public var to = ""
        public var note = ""
        /// True for the row of all members that no other row names.
        public var isRest = false
        public init() {}
    }

    /// What of an event is refused or cut.
    public struct LimitRow: Sendable, Equatable {
        /// What the limit is about, such as `name_length`. A module may have topics that the router does not know.
        public var topic = ""
        public var most: Int?
        public var what = ""
        public init() {}
    }

    public init(name: String, version: String, summary: String, settings: SettingsSchema.ObjectRules) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = settings
    }

    /// A module that is only a source.
    public init(only source: SourceDescription) {
        self.init(name: source.name, version: source.version, summary: source.summary, settings: SettingsSchema.ObjectRules())
        offersProvider = false
        self.source = source
    }
}

/// The description of the source that a module offers.
public struct SourceDescription: Sendable {
    public var name: String
    public var version: String
    public var summary: String
    public var settings: SettingsSchema.ObjectRules

    public init(name: String, version: String, summary: String, settings: SettingsSchema.ObjectRules) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = settings
    }
}

/// A small subset of JSON Schema: enough to check settings and to print them.
public indirect enum SettingsSchema: Sendable {
    case string(StringRules)
    case number(NumberRules)
    case boolean(BooleanRules)
    case list(of: SettingsSchema, about: String)
    case object(ObjectRules)
    /// A value of one of several types. No two alternatives have the same type in JSON.
    case either([SettingsSchema], about: String)

    /// The description of the setting, in the module's words.
    public var about: String {
        switch self {
        case .string(let rules): rules.about
        case .number(let rules): rules.about
        case .boolean(let rules): rules.about
        case .list(_, let about): about
        case .object(let rules): rules.about
        case .either(_, let about): about
        }
    }

    public struct StringRules: Sendable {
        /// The format of the text. The module gets a `size` (16MB, 512KiB) in bytes and a `duration` (500ms, 24h) in milliseconds, both as
        /// integers. An `expression` is CEL with a value of any type, and a `condition` is CEL that is true or false.
        public enum Format: String, Sendable {
            case plain, size, duration, expression, condition
            public var isExpression: Bool { self == .expression || self == .condition }
        }
        /// The names that an expression can use, besides the constants. If it is nil, they are the members of the event.
        public var names: [(name: String, type: VariableType)]?
        public enum VariableType: String, Sendable, CaseIterable {
            /// A value of any type.
            case any
            case integer
            case text
            /// A map from texts to texts.
            case texts
            /// A value that an expression can only put somewhere.
            case opaque
        }
        public var about = ""
        public var format = Format.plain
        public var oneOf: [String] = []
        /// An anchored extended regular expression (POSIX).
        public var pattern: String?
        public var fallback: String?
        /// True if the value must not be shown.
        public var isSecret = false
        public init() {}
    }
    public struct NumberRules: Sendable {
        public var about = ""
        public var integer = false
        public var minimum: Double?
        public var maximum: Double?
        public var fallback: Double?
        public init() {}
    }
    public struct BooleanRules: Sendable {
        public var about = ""
        public var fallback: Bool?
        public init() {}
    }
    public struct ObjectRules: Sendable {
        public var about = ""
        /// The members in the order in which the module lists them.
        public var members: [(name: String, schema: SettingsSchema, required: Bool)] = []
        /// The schema of members that are not listed. If it is nil, only listed members are allowed.
        public var others: SettingsSchema?
        public init() {}
    }
}
