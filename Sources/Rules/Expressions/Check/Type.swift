// The types that the checker knows, and the rules for which type is accepted in place of another.

public indirect enum Type: Hashable, Sendable {
    case dyn, null, bool, int, uint, double, string, bytes, timestamp, duration, ip, version
    case list(Type)
    case map(Type, Type)
    case type(Type)
    /// A type that the caller declares. Only functions of the caller take it.
    case opaque(String, [Type])
    /// A type that is not known yet.
    case variable(Int)
    /// A type parameter in the declaration of a function: any type, but the same wherever the parameter occurs.
    case parameter(String)

    /// The type of a value of this type that may be absent.
    static func optional(_ type: Type) -> Type { .opaque(optionalName, [type]) }
    static let optionalName = "optional_type"

    /// The type of the value in an optional. It is nil if the type is not that of an optional.
    var held: Type? { if case .opaque(Type.optionalName, let parts) = self, parts.count == 1 { parts[0] } else { nil } }

    var isNumber: Bool { self == .int || self == .uint || self == .double }

    var parts: [Type] {
        switch self {
        case .list(let element), .type(let element): [element]
        case .map(let key, let value): [key, value]
        case .opaque(_, let parts): parts
        default: []
        }
    }

    fileprivate func isSameKind(as other: Type) -> Bool {
        switch (self, other) {
        case (.list, .list), (.map, .map), (.type, .type): true
        case (.opaque(let a, let first), .opaque(let b, let second)): a == b && first.count == second.count
        default: self == other
        }
    }

    func mapped(_ change: (Type) -> Type) -> Type {
        switch self {
        case .list(let element): .list(change(element))
        case .map(let key, let value): .map(change(key), change(value))
        case .type(let of): .type(change(of))
        case .opaque(let name, let parts): .opaque(name, parts.map(change))
        default: self
        }
    }
}

extension Type: CustomStringConvertible {
    public var description: String {
        switch self {
        case .dyn, .variable: "dyn"
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .ip: "ip"
        case .version: "version"
        case .list(let element): "list(\(element))"
        case .map(let key, let value): "map(\(key), \(value))"
        case .type: "type"
        case .opaque(let name, let parts): parts.isEmpty ? name : "\(name)(\(parts.map(\.description).joined(separator: ", ")))"
        case .parameter(let name): name
        }
    }
}

/// The known types of the type variables.
struct Substitution {
    private var known: [Int: Type] = [:]
    private var next = 0

    mutating func fresh() -> Type {
        next += 1
        return .variable(next)
    }

    /// Returns the type with its known variables replaced. If `isFinal` is true, the unknown ones become dyn.
    func resolve(_ type: Type, isFinal: Bool = false) -> Type {
        if case .variable(let id) = type {
            if let value = known[id] { return resolve(value, isFinal: isFinal) }
            return isFinal ? .dyn : type
        }
        return type.mapped { resolve($0, isFinal: isFinal) }
    }

    /// Returns true if a value of one type is accepted where the other is expected. Then it keeps what this implies for the variables.
    mutating func unify(_ a: Type, _ b: Type) -> Bool {
        var attempt = self
        guard attempt.assign(a, b) else { return false }
        self = attempt
        return true
    }

    private mutating func assign(_ a: Type, _ b: Type) -> Bool {
        if case .variable = b {
            let (isValid, wasKnown) = substitute(a, for: b)
            if isValid || wasKnown { return isValid }
        }
        if case .variable = a { return substitute(b, for: a).isValid }
        if a == .dyn || b == .dyn { return true }
        if a == .null { return isNullable(b) }
        if b == .null { return isNullable(a) }
        guard a.isSameKind(as: b) else { return false }
        for (a, b) in zip(a.parts, b.parts) {
            guard assign(a, b) else { return false }
        }
        return true
    }

    private func isNullable(_ type: Type) -> Bool {
        switch type {
        case .null, .timestamp, .duration, .opaque: true
        default: false
        }
    }

    private mutating func substitute(_ a: Type, for b: Type) -> (isValid: Bool, wasKnown: Bool) {
        if a == b { return (true, true) }
        guard case .variable(let id) = b else { return (false, false) }
        if let value = known[id] {
            if a == value { return (true, true) }
            guard assign(a, value) else { return (false, true) }
            let general = Substitution.moreGeneral(a, value)
            if !mentions(general, b) { known[id] = general }
            return (true, true)
        }
        guard !mentions(a, b) else { return (false, false) }
        known[id] = a
        return (true, false)
    }

    private func mentions(_ type: Type, _ variable: Type) -> Bool {
        if type == variable { return true }
        if case .variable(let id) = type { return known[id].map { mentions($0, variable) } ?? false }
        return type.parts.contains { mentions($0, variable) }
    }

    static func moreGeneral(_ a: Type, _ b: Type) -> Type { isLessSpecific(a, b) ? a : b }

    private static func isLessSpecific(_ a: Type, _ b: Type) -> Bool {
        switch (a, b) {
        case (.dyn, _), (.variable, _): return true
        case (_, .dyn), (_, .variable): return false
        case (_, .null) where a != .null: return true
        default: break
        }
        guard a.isSameKind(as: b) else { return false }
        return zip(a.parts, b.parts).allSatisfy(isLessSpecific)
    }

    /// Returns the element type of a list that has elements of both types.
    mutating func join(_ a: Type?, _ b: Type) -> Type {
        guard let a else { return b }
        return unify(a, b) ? Substitution.moreGeneral(a, b) : .dyn
    }
}
