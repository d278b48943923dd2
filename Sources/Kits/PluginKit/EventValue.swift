// An event as the author of an adapter reads it: a member by its keys or by a path, and its value as a text, a number or the original JSON.
// It promises to accept every event that the router accepts, with any numbers, strings, keys, depth and length. It builds no tree, and
// reading never throws. A value that does not fit a Swift type is nil for that type, and its JSON is still readable.

internal import Events

/// A value in an event: the event itself, or any value inside it. It refers to the memory of its batch and is valid as long as that memory.
public struct EventValue: @unchecked Sendable {
    public enum Kind: Sendable { case object, list, text, number, flag, null }

    /// The original text of the value, without the spaces around it.
    public let json: UnsafeRawBufferPointer

    /// `json` is one complete value of valid JSON. Spaces around it are allowed.
    public init(json: UnsafeRawBufferPointer) {
        let start = json.firstIndex { !EventValue.isBlank($0) } ?? json.endIndex
        let last = json.lastIndex { !EventValue.isBlank($0) } ?? start - 1
        self.json = UnsafeRawBufferPointer(rebasing: json[start..<max(start, last + 1)])
        assert(self.json.count <= json.count, "a value is longer than the text that holds it")
    }

    fileprivate init(_ json: Slice<UnsafeRawBufferPointer>) { self.json = UnsafeRawBufferPointer(rebasing: json) }

    public var kind: Kind {
        switch json.first {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .list
        case UInt8(ascii: "\""): .text
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .flag
        case UInt8(ascii: "n"), nil: .null
        default: .number
        }
    }

    // MARK: - Members and elements

    /// Returns the member with that key. If the key is duplicated, the first member is returned. The result is nil if there is no such
    /// member, or if the value is not an object.
    public subscript(key: String) -> EventValue? {
        for (name, value) in members where name.isText(key) { return value }
        return nil
    }

    /// Returns the member at the path.
    public subscript(path: EventPath) -> EventValue? {
        var value = self
        for key in path.keys {
            guard let next = value[key] else { return nil }
            value = next
        }
        return value
    }

    /// The members of an object in the order of the text, including members with a duplicate key. It is empty for any other value. A key is
    /// always a text. Iterating costs time in proportion to the length of the object, so reading all levels of an event costs its length
    /// once per level.
    public var members: EventMembers { EventMembers(kind == .object ? json : UnsafeRawBufferPointer(start: nil, count: 0)) }

    /// The elements of a list. It is empty for any other value.
    public var elements: EventElements { EventElements(kind == .list ? json : UnsafeRawBufferPointer(start: nil, count: 0)) }

    // MARK: - Typed values

    /// The text of a string, with its escapes decoded. It is nil for any other value, and for a string that is not valid text because it
    /// contains a single half of a surrogate pair: see `repairedText`.
    public var text: String? {
        guard kind == .text else { return nil }
        return Text.withText(body) { text in text.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The text of a string, with U+FFFD in place of every single half of a surrogate pair. It is nil for any other value.
    public var repairedText: String? {
        guard kind == .text else { return nil }
        return text ?? EventValue.repaired(body)
    }

    /// The integer value of a number that is whole and fits into `Int`, in any notation: 3, 3.0 and 30e-1. It is nil for any other value.
    public var integer: Int? {
        guard kind == .number else { return nil }
        var text = String(decoding: json, as: UTF8.self).utf8[...]
        if let integer = Int(String(text)!) { return integer }
        // It uses the digits, since a double rounds. For example, 12.50e1 has the digits 1250 and the exponent -1.
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { text.removeFirst() }
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = parts[0].split(separator: UInt8(ascii: "."), maxSplits: 1)
        var digits = Array(mantissa.joined())[...].drop { $0 == UInt8(ascii: "0") }
        if digits.isEmpty { return 0 }
        // With an exponent that does not fit, the number is too large or a fraction.
        guard var places = parts.count > 1 ? Int(String(parts[1])!) : 0 else { return nil }
        guard places.magnitude < 1 << 40 else { return nil }
        if mantissa.count > 1 { places -= mantissa[1].count }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            places += 1
        }
        guard places >= 0, digits.count + places <= 19 else { return nil }
        return Int((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: places))
    }

    /// The double nearest to a number. It is nil for a number that is too large, such as 1E400, and for any other value.
    public var number: Double? {
        guard kind == .number, let number = Double(String(decoding: json, as: UTF8.self)), number.isFinite else { return nil }
        return number
    }

    /// The value of true or false. It is nil for any other value.
    public var flag: Bool? { kind == .flag ? json.first == UInt8(ascii: "t") : nil }

    public var isNull: Bool { kind == .null }

    // MARK: - Strings

    /// The bytes between the quotes.
    private var body: UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: json.dropFirst().dropLast()).assumingMemoryBound(to: UInt8.self)
    }

    private func isText(_ other: String) -> Bool {
        var other = other
        return other.withUTF8 { other in
            let body = body
            // An escape is never shorter than the character that it encodes.
            guard body.count >= other.count else { return false }
            return Text.withText(body) { text in text?.elementsEqual(other) ?? false }
        }
    }

    /// Decodes a string piece by piece. Each part that cannot be decoded becomes U+FFFD.
    private static func repaired(_ body: UnsafeBufferPointer<UInt8>) -> String {
        var text = ""
        var start = 0
        var i = 0
        func piece(_ range: Range<Int>) -> String? {
            Text.withText(UnsafeBufferPointer(rebasing: body[range])) { $0.map { String(decoding: $0, as: UTF8.self) } }
        }
        while i < body.count {
            guard body[i] == UInt8(ascii: "\\") else {
                i += 1
                continue
            }
            let isUnit = i + 6 <= body.count && body[i + 1] == UInt8(ascii: "u")
            // A unit that is not valid alone may be valid together with the next one.
            let alone = isUnit && piece(i..<i + 6) == nil
            let isPair = alone && i + 12 <= body.count && piece(i..<i + 12) != nil
            if alone, !isPair {
                text += (piece(start..<i) ?? "") + "\u{FFFD}"
                start = i + 6
            }
            i += isPair ? 12 : isUnit ? 6 : 2
        }
        return text + (piece(start..<body.count) ?? "")
    }

    fileprivate static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }
}

/// The path of a member in an event, written as in routes.json: `context.app.version`, or `properties["a.b"].c`.
public struct EventPath: Sendable {
    public let keys: [String]

    /// Makes the path of these keys, from the outermost object to the innermost.
    public init(keys: [String]) { self.keys = keys }

    /// Parses the text of a path. It throws a `SettingsFault`, since the path usually comes from a setting of an adapter.
    public init(_ text: String) throws(SettingsFault) {
        do throws(PathFault) {
            keys = try Path(parsing: text).keys
        } catch {
            throw SettingsFault("'\(printable(text))' is not a path: at byte \(error.offset + 1): \(error.message)")
        }
    }
}

extension Batch {
    /// Returns one of the events, without a copy.
    public func event(_ index: Int) -> EventValue { EventValue(json: lines.text(of: index)) }
}

/// The members of an object, in order.
public struct EventMembers: Sequence, IteratorProtocol {
    private var walk: EventWalk
    fileprivate init(_ json: UnsafeRawBufferPointer) { walk = EventWalk(json) }

    public mutating func next() -> (key: EventValue, value: EventValue)? {
        guard let key = walk.value(), walk.pass(UInt8(ascii: ":")), let value = walk.value() else { return nil }
        return (key, value)
    }
}

/// The elements of a list, in order.
public struct EventElements: Sequence, IteratorProtocol {
    private var walk: EventWalk
    fileprivate init(_ json: UnsafeRawBufferPointer) { walk = EventWalk(json) }
    public mutating func next() -> EventValue? { walk.value() }
}

/// Reads the text of an object or a list, value by value. The text has been validated. Even if it is not valid, the walk never reads beyond
/// its end.
private struct EventWalk {
    private let json: UnsafeRawBufferPointer
    private var i = 1

    init(_ json: UnsafeRawBufferPointer) { self.json = json }

    /// Skips one punctuation mark. Returns false if the next byte is something else.
    mutating func pass(_ mark: UInt8) -> Bool {
        skipBlanks()
        guard i < json.count, json[i] == mark else { return false }
        i += 1
        return true
    }

    /// Returns the next value and skips the comma after it. Returns nil at the end.
    mutating func value() -> EventValue? {
        skipBlanks()
        let start = i
        skipValue()
        guard i > start, i < json.count else { return nil }
        let value = EventValue(json[start..<i])
        _ = pass(UInt8(ascii: ","))
        return value
    }

    private mutating func skipBlanks() {
        while i < json.count, EventValue.isBlank(json[i]) { i += 1 }
    }

    /// It does not recurse, since an event may be nested more deeply than the stack of a thread allows.
    private mutating func skipValue() {
        var depth = 0
        while i < json.count {
            switch json[i] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                i += 1
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the object or list.
                if depth == 0 { return }
                depth -= 1
                i += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0a, 0x0d:
                if depth == 0 { return }
                i += 1
                continue
            default: skipWord()
            }
            if depth == 0 { return }
        }
    }

    private mutating func skipString() {
        i += 1
        while i < json.count, json[i] != UInt8(ascii: "\"") { i += json[i] == UInt8(ascii: "\\") ? 2 : 1 }
        i = min(i + 1, json.count)
    }

    private mutating func skipWord() {
        while i < json.count {
            switch json[i] {
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x09, 0x0a, 0x0d: return
            default: i += 1
            }
        }
    }
}
