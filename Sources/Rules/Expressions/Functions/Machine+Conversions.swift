// Conversions between the types, and the texts of scalars. A conversion fails if the target type cannot hold the value. int() and
// uint() cut the fraction of a double, and double() rounds an integer that it cannot represent exactly.

internal import Events

extension Machine {
    mutating func convert(_ value: Value, function: Function, code: Code) throws(Failure) -> Value {
        switch (function, value) {
        case (.int, .int), (.uint, .uint), (.double, .double), (.string, .string), (.bytes, .bytes), (.bool, .bool),
            (.timestamp, .timestamp), (.duration, .duration):
            return value
        case (.int, .uint(let number)):
            guard let result = Int64(exactly: number) else { throw code.failure(.range) }
            return .int(result)
        case (.int, .double(let number)):
            // Both bounds are excluded. 2^63 is beyond the range, and the specification excludes -2^63 as well.
            guard number > -0x1p63, number < 0x1p63 else { throw code.failure(.range) }
            return .int(Int64(number))
        case (.int, .string(let text)):
            guard text.bytes.first != UInt8(ascii: "+"), let number = Int64(text.string) else { throw code.failure(.number) }
            return .int(number)
        case (.int, .timestamp(let time)): return .int(time.seconds)
        case (.uint, .int(let number)):
            guard let result = UInt64(exactly: number) else { throw code.failure(.range) }
            return .uint(result)
        case (.uint, .double(let number)):
            guard number > -1, number < 0x1p64 else { throw code.failure(.range) }
            return .uint(UInt64(number))
        case (.uint, .string(let text)):
            guard text.bytes.first.map(isDigit) ?? false, let number = UInt64(text.string) else { throw code.failure(.number) }
            return .uint(number)
        case (.double, .int(let number)): return .double(Double(number))
        case (.double, .uint(let number)): return .double(Double(number))
        case (.double, .string(let text)):
            guard let number = Machine.double(text) else { throw code.failure(.number) }
            return .double(number)
        case (.string, .bytes(let bytes)):
            guard isUTF8(bytes) else { throw code.failure(.text) }
            return .string(TextValue(bytes))
        case (.string, _):
            guard let text = Machine.text(value) else { throw code.failure(.noOverload) }
            return .string(TextValue(text))
        case (.bytes, .string(let text)): return .bytes(text.bytes)
        case (.bool, .string(let text)):
            switch text.string {
            case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
            case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
            default: throw code.failure(.boolean)
            }
        case (.timestamp, .int(let seconds)):
            guard let time = Timestamp(seconds: seconds) else { throw code.failure(.timestamp) }
            return .timestamp(time)
        case (.timestamp, .string(let text)):
            guard let time = Timestamp(text.bytes) else { throw code.failure(.timestamp) }
            return .timestamp(time)
        case (.duration, .string(let text)):
            guard let duration = DurationText.parse(text.bytes) else { throw code.failure(.duration) }
            return .duration(duration)
        default: throw code.failure(.noOverload)
        }
    }

    private static func double(_ text: TextValue) -> Double? {
        switch text.string {
        case "NaN": return .nan
        case "Infinity", "+Infinity", "inf", "Inf": return .infinity
        case "-Infinity", "-inf", "-Inf": return -.infinity
        default: break
        }
        guard text.bytes.allSatisfy({ isDigit($0) || "+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text.string)
    }

    /// Returns the text of a scalar as `string()` writes it. It is nil for bytes, lists and maps.
    static func text(_ value: Value) -> String? {
        switch value {
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .uint(let value): String(value)
        case .double(let value): text(value)
        case .string(let value): value.string
        case .timestamp(let value): value.text
        case .duration(let value): DurationText.text(value)
        case .type(let name): name
        case .ip(let address): String(decoding: address.text, as: UTF8.self)
        case .version(let version): version.text.string
        case .null: "null"
        default: nil
        }
    }

    /// Returns the shortest text that reads back as the same double.
    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
