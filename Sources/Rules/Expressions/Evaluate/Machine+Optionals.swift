// Optionals: values that may be absent. `a.?b` makes one, and whatever is selected from one is an optional again, so a chain needs no test
// between its parts.

internal import Events

extension Machine {
    /// Returns the member of a map, or of the map in an optional. It is nil if there is none.
    mutating func select(from base: Value, _ code: Code) throws(Failure) -> Value? {
        guard case .optional(let held) = base else { return try lookup(base, key: code.key, code: code) }
        guard let held else { return nil }
        return try lookup(held, key: code.key, code: code)
    }

    /// Returns the value in an optional. It is nil if there is none.
    func held(_ value: Value, _ code: Code) throws(Failure) -> Value? {
        guard case .optional(let held) = value else { throw code.failure(.noOverload) }
        return held
    }

    /// Evaluates `optional.optMap(variable, value)` and `optional.optFlatMap(variable, optional)`.
    mutating func mapOptional(_ code: Code) throws(Failure) -> Value {
        guard let held = try held(try value(code.children[0]), code) else { return .optional(nil) }
        assert(locals.count == code.index, "a macro uses the variable of another one")
        locals.append(held)
        defer { locals.removeLast() }
        let result = try value(code.children[1])
        if case .macro(.optMap) = code.kind { return .optional(result) }
        return .optional(try self.held(result, code.children[1]))
    }

    /// Calls a function that makes or reads an optional. What follows `or` and `orValue` is evaluated only if it is needed.
    mutating func optional(_ function: Function, _ code: Code) throws(Failure) -> Value {
        if function == .optionalNone { return .optional(nil) }
        let first = try value(code.children[0])
        switch function {
        case .optionalOf: return .optional(first)
        case .optionalOfNonZeroValue: return .optional(try isZero(first, code) ? nil : first)
        case .hasValue: return .bool(try held(first, code) != nil)
        case .value:
            guard let held = try held(first, code) else { throw code.failure(.noValue) }
            return held
        case .or:
            if try held(first, code) != nil { return first }
            let other = try value(code.children[1])
            _ = try held(other, code)
            return other
        default:
            if let held = try held(first, code) { return held }
            return try value(code.children[1])
        }
    }

    /// Returns true for null and for the value that a member of its type has by default: false, 0, an empty text, list or map.
    private mutating func isZero(_ value: Value, _ code: Code) throws(Failure) -> Bool {
        switch value {
        case .null: true
        case .bool(let value): !value
        case .int(let value): value == 0
        case .uint(let value): value == 0
        case .double(let value): value == 0
        case .duration(let value): value == 0
        case .timestamp(let time): time.seconds == 0 && time.nanoseconds == 0
        case .optional(let held): held == nil
        case .string, .bytes: value.textBytes == 0
        case .list(.values(let values)): values.isEmpty
        case .map(.entries(let entries)): entries.isEmpty
        case .list(.json), .map(.json): try isEmpty(value, code)
        case .type, .ip, .version: false
        }
    }

    private mutating func isEmpty(_ value: Value, _ code: Code) throws(Failure) -> Bool {
        var elements = Elements(value)
        return try next(&elements, code) == nil
    }
}
