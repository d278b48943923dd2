// What a module says of itself, once read: Configuration checks routes.json against it, the host prints it.

/// Finds what is installed. The plugin host answers; tests answer from memory.
public protocol ModuleCatalog {
    /// The description of the module, nil when there is none of that name.
    func description(of module: String) throws(ModuleFault) -> ModuleDescription?
    /// The same of several modules, each named once; where it takes its time, of all of them at once.
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
        /// The most events, and the most bytes, in one batch; nil: no limit.
        public var events: Int?
        public var bytes: Int?
        public init() {}
    }

    public var name: String
    public var version: String
    public var summary: String
    /// The schema of the settings; an object schema.
    public var settings: SettingsSchema
    public var limits = Limits()
    /// The most batches that may be under way at once; 1: one at a time.
    public var concurrency = 1
    public var canErase = false
    /// Whether its destination tells by the `messageId` what it has got already.
    public var deduplicates = false
    /// Whether it writes to the router's standard output or standard error by itself, and so keeps both when it is isolated.
    public var writesToStreams = false
    /// What a lane of this module does unless routes.json says otherwise.
    public var delivery = DeliveryPlan()

    public init(name: String, version: String, summary: String, settings: SettingsSchema) {
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

    /// What it is for, in the module's words.
    public var about: String {
        switch self {
        case .string(let rules): rules.about
        case .number(let rules): rules.about
        case .boolean(let rules): rules.about
        case .list(_, let about): about
        case .object(let rules): rules.about
        }
    }

    public struct StringRules: Sendable {
        /// `size` (16MB, 512KiB) arrives in bytes, `duration` (500ms, 24h) in milliseconds; both as integers.
        public enum Format: String, Sendable { case plain, size, duration }
        public var about = ""
        public var format = Format.plain
        public var oneOf: [String] = []
        /// An anchored extended regular expression (POSIX).
        public var pattern: String?
        public var fallback: String?
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
        /// In the order in which the module lists them.
        public var members: [(name: String, schema: SettingsSchema, required: Bool)] = []
        /// The schema of members that are not listed; nil: there may be none.
        public var others: SettingsSchema?
        public init() {}
    }
}
