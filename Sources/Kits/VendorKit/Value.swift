// A value of an event: its bytes as they are written, in the memory of the batch. Reading it allocates nothing, except where a function
// says so. The event was validated, and 64 bytes after it are readable.

internal import Events
public import PluginKit

public struct Value: @unchecked Sendable {
    let base: Bytes
    /// The number of bytes.
    public let count: Int
    /// The slot of a member that the reader noted, or 0.
    let slot: Int

    init(_ base: Bytes, count: Int, slot: Int = 0) {
        assert(count > 0, "a value has no bytes")
        self.base = base
        self.count = count
        self.slot = slot
    }

    /// The value as it is written.
    public var json: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    public var isText: Bool { base[0] == UInt8(ascii: "\"") }
    public var isObject: Bool { base[0] == UInt8(ascii: "{") }
    public var isList: Bool { base[0] == UInt8(ascii: "[") }
    public var isNumber: Bool { base[0] == UInt8(ascii: "-") || base[0] &- 0x30 < 10 }
    public var isFlag: Bool { isTrue || base[0] == UInt8(ascii: "f") }
    public var isTrue: Bool { base[0] == UInt8(ascii: "t") }
    public var isNull: Bool { base[0] == UInt8(ascii: "n") }

    /// True for a text that is not empty, and for a number: what can identify a person or a thing.
    public var isIdentity: Bool { isText ? count > 2 : isNumber }

    /// The bytes between the quotes of a text, with its escapes. It is empty for any other value.
    public var body: UnsafeBufferPointer<UInt8> {
        isText ? UnsafeBufferPointer(start: base + 1, count: count - 2) : UnsafeBufferPointer(start: base, count: 0)
    }

    /// The beginning of `body` that makes at most `room` characters (Unicode scalars). It reduces `room` by the number of them.
    public func body(within room: inout Int) -> UnsafeBufferPointer<UInt8> {
        let body = body
        var end = 0
        while end < body.count, room > 0 {
            end += Value.length(of: body, at: end)
            room -= 1
        }
        return UnsafeBufferPointer(rebasing: body[..<end])
    }

    /// Returns the number of bytes of the character that begins at a place. An escape for a pair of surrogates is one character.
    private static func length(of body: UnsafeBufferPointer<UInt8>, at place: Int) -> Int {
        /// True for `\uD8` to `\uDB`, or for `\uDC` to `\uDF`.
        func isSurrogate(_ place: Int, isHigh: Bool) -> Bool {
            guard place + 6 <= body.count, body[place] == UInt8(ascii: "\\"), body[place + 1] == UInt8(ascii: "u"),
                body[place + 2] | 0x20 == UInt8(ascii: "d")
            else { return false }
            let digit = body[place + 3] | 0x20
            return digit >= UInt8(ascii: "8") && (digit < UInt8(ascii: "c")) == isHigh
        }
        switch body[place] {
        case UInt8(ascii: "\\"):
            if body[place + 1] != UInt8(ascii: "u") { return 2 }
            return isSurrogate(place, isHigh: true) && isSurrogate(place + 6, isHigh: false) ? 12 : 6
        case ..<0xc0: return 1
        case ..<0xe0: return 2
        case ..<0xf0: return 3
        default: return 4
        }
    }

    /// The time, in nanoseconds since 1970, if the value is the text of one.
    public var time: Int64? { withText { $0.flatMap(Times.parse) } }

    /// Calls `use` with the decoded text, or with nil if the value is no text, or if it has a single half of a surrogate pair.
    public func withText<R>(_ use: (UnsafeBufferPointer<UInt8>?) -> R) -> R { isText ? Text.withText(body, use) : use(nil) }

    /// Returns true if the value is this text.
    public func isText(_ text: StaticString) -> Bool {
        guard count - 2 >= text.utf8CodeUnitCount else { return false }
        return withText { decoded in
            text.withUTF8Buffer { text in decoded.map { $0.count == text.count && $0.elementsEqual(text) } ?? false }
        }
    }

    /// The number of characters (Unicode scalars) of a text. A single half of a surrogate pair is one. It is 0 for any other value.
    public var characters: Int {
        let body = body
        var (end, count) = (0, 0)
        while end < body.count {
            end += Value.length(of: body, at: end)
            count += 1
        }
        return count
    }

    /// Returns true if a text has more characters than this. It never has more of them than bytes, so a short text is not read.
    public func isLonger(than most: Int) -> Bool { isText && count - 2 > most && characters > most }

    /// The decoded text, or nil for any other value. It allocates a String.
    public var text: String? { withText { $0.map { String(decoding: $0, as: UTF8.self) } } }

    /// The value as PluginKit's type, which reads numbers and texts of every form.
    public var event: EventValue { EventValue(json: json) }

    // MARK: - Members and elements

    /// The members of an object in the order of the text, also those that come twice. It is empty for any other value.
    public var members: Members { Members(self) }
    /// The elements of a list. It is empty for any other value.
    public var elements: Elements { Elements(self) }

    /// Returns the first member with this key, or nil if there is none or the value is no object.
    public subscript(key: StaticString) -> Value? {
        for (name, value) in members where name.isText(key) { return value }
        return nil
    }

    /// Returns true if this holds for the value, or for any value in it. It recurses, so the depth must be known to be small.
    public func contains(_ isFound: (Value) -> Bool) -> Bool {
        if isFound(self) { return true }
        for (_, member) in members { if member.contains(isFound) { return true } }
        for element in elements { if element.contains(isFound) { return true } }
        return false
    }

    /// The number of objects and lists in one another: 0 for a text or a number, 1 for an object of these.
    public var depth: Int {
        var (depth, most) = (0, 0)
        var p = base
        let end = base + count
        while p < end {
            switch p[0] {
            case UInt8(ascii: "\""):
                p = stringEnd(p)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                most = max(most, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            p += 1
        }
        return most
    }

    public struct Members: Sequence, IteratorProtocol {
        private var p: Bytes
        fileprivate init(_ value: Value) { p = value.isObject ? value.base : Values.nothing }

        public mutating func next() -> (key: Value, value: Value)? {
            guard p[0] != UInt8(ascii: "}") else { return nil }
            p = skipSpace(p + 1)
            guard p[0] == UInt8(ascii: "\"") else { return nil }
            let key = p
            let keyEnd = stringEnd(p)
            let start = skipSpace(skipSpace(keyEnd) + 1)
            let end = valueEnd(start)
            p = skipSpace(end)
            return (Value(key, count: keyEnd - key), Value(start, count: end - start))
        }
    }

    public struct Elements: Sequence, IteratorProtocol {
        private var p: Bytes
        fileprivate init(_ value: Value) { p = value.isList ? value.base : Values.nothing }

        public mutating func next() -> Value? {
            guard p[0] != UInt8(ascii: "]") else { return nil }
            let start = skipSpace(p + 1)
            guard start[0] != UInt8(ascii: "]") else { return nil }
            let end = valueEnd(start)
            p = skipSpace(end)
            return Value(start, count: end - start)
        }
    }
}

private enum Values {
    /// An empty list, in place of a value without members or elements.
    nonisolated(unsafe) static let nothing: Bytes = {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 64)
        memory.initialize(repeating: UInt8(ascii: "]"), count: 64)
        return Bytes(memory)
    }()
}
