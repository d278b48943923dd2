// Values that come from outside of an expression: JSON that a caller has scanned, and constants. A caller also reads a list with it.

public import Events

extension Value {
    /// Reads a value of JSON where it lies; a list or a map stays a span of these bytes. They must be valid JSON, with a byte behind them that
    /// may be read and does not continue the value. It is nil for a string with a lone surrogate, which is not valid text.
    public init?(validJSON start: Bytes, count: Int) {
        guard let value = JSONSpan(start, start + count).value else { return nil }
        self = value
    }

    /// Returns the variables that hold these constants, by the names that `Environment.constants` gives them.
    public static func variables(ofConstants constants: [String: String]) -> [String: Value] {
        var variables: [String: Value] = [:]
        for (name, text) in constants { variables["\(Environment.constantsName).\(name)"] = .string(TextValue(text)) }
        return variables
    }

    /// Calls `body` with each element of a list, until it returns false. An element is nil if it is a string that is not valid text. Returns
    /// false if the value is not a list.
    public func forEachElement(_ body: (Value?) -> Bool) -> Bool {
        switch self {
        case .list(.values(let values)):
            for value in values where !body(value) { break }
        case .list(.json(let span)):
            var cursor = JSONCursor(span)
            while cursor.next(), body(cursor.value.value) {}
        default: return false
        }
        return true
    }
}
