// Where a value violates its schema, and which keyword says so. It never has a value of the event.

public import Events

/// The keyword that a value violates. The raw values are the words of the specification; the last three are bounds of this checker.
public enum Keyword: String, Sendable, CaseIterable, BitwiseCopyable {
    case type, `enum`, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern
    case minItems, maxItems, uniqueItems, contains, minProperties, maxProperties, required, dependentRequired
    case additionalProperties, propertyNames, unevaluatedItems, unevaluatedProperties, anyOf, oneOf, not
    /// The schema is `false`.
    case `false`
    /// An object has a key twice.
    case duplicate
    /// The value is nested too deep for the checker.
    case depth
    /// Too many steps would be needed.
    case steps
}

/// The first violation that the checker found.
public struct Violation: BitwiseCopyable {
    public let keyword: Keyword
    /// The first byte of the offending value, inside the value that was checked.
    public let value: Bytes
    /// The key that is missing, if the keyword is `required` or `dependentRequired`.
    public let missing: ByteRun?
}

/// The place of a value inside another one.
public struct ViolationPlace {
    /// The JSON Pointer. It is empty for the value itself.
    public var pointer: String
    /// The innermost member of an object that contains the place: its key, and the place after its value. It is nil for the value itself.
    public var member: (key: Bytes, end: Bytes)?

    /// The most bytes of a pointer. The rest of a longer one is left out.
    static let most = 300

    /// Finds the place of `target`, which is the first byte of a value inside the value at `root`.
    public init(of target: Bytes, in root: Bytes) {
        pointer = ""
        var at = root
        while at != target {
            let isObject = at[0] == UInt8(ascii: "{")
            guard isObject || at[0] == UInt8(ascii: "[") else { return }
            var p = skipSpace(at + 1)
            var index = 0
            while true {
                if p[0] == UInt8(ascii: "}") || p[0] == UInt8(ascii: "]") { return }
                let key = p
                if isObject {
                    p = skipSpace(stringEnd(p))
                    p = skipSpace(p + 1)
                }
                let end = valueEnd(p)
                if target >= key && target < end {
                    if isObject { member = (key, end) }
                    add(isObject ? ViolationPlace.token(key) : String(index))
                    // The name of a member stands for the member.
                    if target < p { return }
                    at = p
                    break
                }
                index += 1
                p = skipSpace(end)
                if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
            }
        }
    }

    private mutating func add(_ token: String) {
        if pointer.utf8.count + token.utf8.count < ViolationPlace.most {
            pointer += "/" + token
        } else if !pointer.hasSuffix("/…") {
            pointer += "/…"
        }
    }

    private static func token(_ key: Bytes) -> String {
        let body = UnsafeBufferPointer(start: key + 1, count: stringEnd(key) - key - 2)
        let text = Text.withText(body) { String(decoding: $0 ?? body, as: UTF8.self) }
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return text }
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
