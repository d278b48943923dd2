// An event as the author of an adapter reads it: a member by its keys or by a path, and of it the text, the number or the JSON as it is
// written. It promises to take every event that the router takes, whatever its numbers, strings, keys, depth and length are: nothing is
// built, nothing is thrown, and what does not fit into a type of Swift is nil there and can be read as JSON still.

internal import Events

/// A value in an event: the event itself, or anything in it. It lies in the memory of its batch and lives as long as that.
public struct EventValue: @unchecked Sendable {
    public enum Kind: Sendable { case object, list, text, number, flag, null }

    /// The value as it is written, without the spaces around it.
    public let json: UnsafeRawBufferPointer

    /// `json`: a whole value of valid JSON; spaces around it do no harm.
    public init(json: UnsafeRawBufferPointer) {
        let start = json.firstIndex { !EventValue.isBlank($0) } ?? json.endIndex
        let last = json.lastIndex { !EventValue.isBlank($0) } ?? start - 1
        self.json = UnsafeRawBufferPointer(rebasing: json[start..<max(start, last + 1)])
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

    // MARK: - What lies in it

    /// The member with that key, the first one where the key comes twice; nil where there is none, and in everything but an object.
    public subscript(key: String) -> EventValue? {
        for (name, value) in members where name.isText(key) { return value }
        return nil
    }

    /// The member that the path leads to.
    public subscript(path: EventPath) -> EventValue? {
        var value = self
        for key in path.keys {
            guard let next = value[key] else { return nil }
            value = next
        }
        return value
    }

    /// The members of an object in the order of the text, also those whose key came before; none of anything else. A key is a text. To go
    /// through them costs the length of the object, so that all levels of an event cost its length for each.
    public var members: EventMembers { EventMembers(kind == .object ? json : UnsafeRawBufferPointer(start: nil, count: 0)) }

    /// The elements of a list; none of anything else.
    public var elements: EventElements { EventElements(kind == .list ? json : UnsafeRawBufferPointer(start: nil, count: 0)) }

    // MARK: - What it says

    /// The text of a string, its escapes resolved. nil for anything else, and for a string that is no text since half of a surrogate pair
    /// stands alone in it: see `repairedText`.
    public var text: String? {
        guard kind == .text else { return nil }
        return Text.withText(body) { text in text.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The text of a string, with U+FFFD for every half of a surrogate pair that stands alone; nil for anything else.
    public var repairedText: String? {
        guard kind == .text else { return nil }
        return text ?? EventValue.repaired(body)
    }

    /// A number that is whole and fits, however it is written: 3, 3.0 and 30e-1. nil for anything else.
    public var integer: Int? {
        guard kind == .number else { return nil }
        var text = String(decoding: json, as: UTF8.self).utf8[...]
        if let integer = Int(String(text)!) { return integer }
        // By its digits, since a double rounds: of a number such as 12.50e1 the digits are 1250 and the places -1.
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { text.removeFirst() }
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = parts[0].split(separator: UInt8(ascii: "."), maxSplits: 1)
        var digits = Array(mantissa.joined())[...].drop { $0 == UInt8(ascii: "0") }
        if digits.isEmpty { return 0 }
        // An exponent that does not fit makes the number too large, or a fraction.
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

    /// The double that is nearest to a number; nil for one that is too large, such as 1E400, and for anything else.
    public var number: Double? {
        guard kind == .number, let number = Double(String(decoding: json, as: UTF8.self)), number.isFinite else { return nil }
        return number
    }

    /// true or false; nil for anything else.
    public var flag: Bool? { kind == .flag ? json.first == UInt8(ascii: "t") : nil }

    public var isNull: Bool { kind == .null }

    // MARK: - Strings

    /// What stands between the quotes.
    private var body: UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: json.dropFirst().dropLast()).assumingMemoryBound(to: UInt8.self)
    }

    private func isText(_ other: String) -> Bool {
        var other = other
        return other.withUTF8 { other in
            let body = body
            // An escape is never shorter than what it stands for.
            guard body.count >= other.count else { return false }
            return Text.withText(body) { text in text?.elementsEqual(other) ?? false }
        }
    }

    /// Piece by piece: what can be decoded by itself, and a sign for what cannot.
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
            // A unit that is no text by itself may be one with the next.
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

/// Where a member stands in an event, as in routes.json: `context.app.version`, or `properties["a.b"].c`.
public struct EventPath: Sendable {
    public let keys: [String]

    /// The member that these keys lead to, one object after the other.
    public init(keys: [String]) { self.keys = keys }

    /// Reads the text of a path; for a setting of an adapter, whose words the fault suits.
    public init(_ text: String) throws(SettingsFault) {
        do throws(PathFault) {
            keys = try Path(parsing: text).keys
        } catch {
            throw SettingsFault("'\(printable(text))' is no path: at byte \(error.offset + 1): \(error.message)")
        }
    }
}

extension Batch {
    /// One of the events, to be read where it lies.
    public func event(_ index: Int) -> EventValue { EventValue(json: lines.text(of: index)) }
}

/// The members of an object, one after the other.
public struct EventMembers: Sequence, IteratorProtocol {
    private var walk: EventWalk
    fileprivate init(_ json: UnsafeRawBufferPointer) { walk = EventWalk(json) }

    public mutating func next() -> (key: EventValue, value: EventValue)? {
        guard let key = walk.value(), walk.pass(UInt8(ascii: ":")), let value = walk.value() else { return nil }
        return (key, value)
    }
}

/// The elements of a list, one after the other.
public struct EventElements: Sequence, IteratorProtocol {
    private var walk: EventWalk
    fileprivate init(_ json: UnsafeRawBufferPointer) { walk = EventWalk(json) }
    public mutating func next() -> EventValue? { walk.value() }
}

/// Goes through the text of an object or a list from value to value. The text has been proved; one that has not never leads beyond its end.
private struct EventWalk {
    private let json: UnsafeRawBufferPointer
    private var i = 1

    init(_ json: UnsafeRawBufferPointer) { self.json = json }

    /// Passes one mark; false where something else stands.
    mutating func pass(_ mark: UInt8) -> Bool {
        skipBlanks()
        guard i < json.count, json[i] == mark else { return false }
        i += 1
        return true
    }

    /// The next value, and the comma behind it; nil at the end.
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

    /// Without recursion, since an event may be nested more deeply than a thread has stack.
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
                // The end of what is walked through.
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
