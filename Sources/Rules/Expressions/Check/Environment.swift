// The environment defines what the names in an expression mean: members of an event, or variables that the caller declares.

public struct Environment: Sendable {
    public enum Variables: Sendable {
        /// Every name is a top-level member of the event. `this` is the event, and the router sets `now` and `source`.
        case event
        /// Only these names are variables. A name may contain dots.
        case declared([String: Type])
    }

    /// A function that the caller declares. Only the checker uses it.
    public struct Declaration: Sendable {
        public var parameters: [Type]
        public var result: Type
        public init(parameters: [Type], result: Type) {
            self.parameters = parameters
            self.result = result
        }
    }

    public var variables: Variables
    /// The namespace in which declared names are looked up first.
    public var container: String
    public var functions: [String: [Declaration]]
    /// The names of the constants that the caller declares; all of them are strings, and `constants.NAME` is the value of one. If it is nil,
    /// `constants` has no meaning of its own.
    public var constants: [String]?
    /// If it is false, types that do not fit and undeclared names are errors of the evaluation and not of the compilation.
    public var isChecked: Bool

    public init(
        _ variables: Variables, container: String = "", functions: [String: [Declaration]] = [:], constants: [String]? = nil,
        isChecked: Bool = true
    ) {
        self.variables = variables
        self.container = container
        self.functions = functions
        self.constants = constants
        self.isChecked = isChecked
    }

    public static let event = Environment(.event)

    /// The name under which an expression finds the constants of the caller.
    public static let constantsName = "constants"

    var isEvent: Bool { if case .event = variables { true } else { false } }

    /// Returns the full names that a name can mean, the innermost namespace first.
    func candidates(_ name: String, isRooted: Bool) -> [String] {
        if isRooted || container.isEmpty { return [name] }
        var parts = container.split(separator: ".")[...]
        var names: [String] = []
        while !parts.isEmpty {
            names.append(parts.joined(separator: ".") + "." + name)
            parts = parts.dropLast()
        }
        return names + [name]
    }

    static let typeNames: [String: Type] = [
        "bool": .bool, "int": .int, "uint": .uint, "double": .double, "string": .string, "bytes": .bytes, "list": .list(.dyn),
        "map": .map(.dyn, .dyn), "null_type": .null, "type": .type(.dyn), "google.protobuf.Timestamp": .timestamp,
        "google.protobuf.Duration": .duration, Type.optionalName: .optional(.dyn),
    ]
}

/// The meaning of a name.
enum Meaning {
    /// The variable of a macro. The outermost macro has the index 0.
    case local(Int)
    /// The member of the event with this path. An empty path is the whole event. If the event lacks the member, the name means the type
    /// `orType`.
    case member([String], orType: String?)
    case declared(String)
    case typeName(String)
    case now, source
    /// The name has no meaning. To evaluate it is an error.
    case unknown(String)
}
