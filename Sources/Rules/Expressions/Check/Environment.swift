// What the names of an expression can mean: the members of an event, or variables that the caller declares.

public struct Environment: Sendable {
    public enum Variables: Sendable {
        /// Every name is a top-level member; `this` is the event, `now` and `source` are the router's.
        case event
        /// These alone; a name may hold dots.
        case declared([String: Type])
    }

    /// A function of the caller's, for the checker alone.
    public struct Declaration: Sendable {
        public var parameters: [Type]
        public var result: Type
        public init(parameters: [Type], result: Type) {
            self.parameters = parameters
            self.result = result
        }
    }

    public var variables: Variables
    /// The namespace in which declared names are looked for first.
    public var container: String
    public var functions: [String: [Declaration]]
    /// Without, types that do not fit are errors when it runs, and names that nothing declares too.
    public var isChecked: Bool

    public init(
        _ variables: Variables, container: String = "", functions: [String: [Declaration]] = [:], isChecked: Bool = true
    ) {
        self.variables = variables
        self.container = container
        self.functions = functions
        self.isChecked = isChecked
    }

    public static let event = Environment(.event)

    var isEvent: Bool { if case .event = variables { true } else { false } }

    /// What a name may be called in full, the innermost namespace first.
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
        "google.protobuf.Duration": .duration,
    ]
}

/// Where a name leads.
enum Meaning {
    /// The variable of a macro, counted from the outermost.
    case local(Int)
    /// The member of the event with this path; empty: the whole event. Where the event lacks it, the type of that name.
    case member([String], orType: String?)
    case declared(String)
    case typeName(String)
    case now, source
    /// Nothing; an error when it is asked for.
    case unknown(String)
}
