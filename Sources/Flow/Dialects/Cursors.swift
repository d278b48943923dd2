// Walks the members of an object, or the elements of a list, that may be broken: what can be told apart comes out.
// Built on `Brackets`; nothing is proved, and whoever takes a value proves it.

internal import Events

/// The elements of a list. Superfluous and missing commas are passed over.
struct ListCursor {
    private(set) var at: Int
    private let limit: Int
    /// Whether the closing bracket has been passed.
    private(set) var isClosed = false

    /// `start` is the opening bracket.
    init(_ start: Int, limit: Int) {
        at = start + 1
        self.limit = limit
    }

    mutating func next(_ text: Bytes, _ brackets: inout Brackets) -> (start: Int, extent: Extent)? {
        while at < limit, isBlank(text[at]) || text[at] == UInt8(ascii: ",") { at += 1 }
        guard at < limit else { return nil }
        if text[at] == UInt8(ascii: "]") {
            at += 1
            isClosed = true
            return nil
        }
        let start = at
        let extent = brackets.value(text, at, limit)
        at = max(extent.end, at + 1)
        return (start, extent)
    }
}

/// The members of an object.
struct MemberCursor {
    struct Member {
        /// What stands between the key's quotes, still escaped.
        var key: Range<Int>
        var value: Range<Int>
    }

    private(set) var at: Int
    private let limit: Int
    /// Whether the closing bracket has been passed. If not, and there is no next member, `at` is where it goes wrong.
    private(set) var isClosed = false

    /// `start` is the opening bracket.
    init(_ start: Int, limit: Int) {
        at = start + 1
        self.limit = limit
    }

    mutating func next(_ text: Bytes, _ brackets: inout Brackets) -> Member? {
        while at < limit, isBlank(text[at]) || text[at] == UInt8(ascii: ",") { at += 1 }
        guard at < limit else { return nil }
        if text[at] == UInt8(ascii: "}") {
            at += 1
            isClosed = true
            return nil
        }
        guard text[at] == UInt8(ascii: "\""), let keyEnd = stringEnd(text, at, limit) else { return nil }
        let key = at + 1..<keyEnd - 1
        let colon = skipBlanks(text, keyEnd, limit)
        guard colon < limit, text[colon] == UInt8(ascii: ":") else {
            at = colon
            return nil
        }
        let start = skipBlanks(text, colon + 1, limit)
        guard start < limit, text[start] != UInt8(ascii: "}"), text[start] != UInt8(ascii: ",") else {
            at = start
            return nil
        }
        let extent = brackets.value(text, start, limit)
        at = extent.end
        guard extent.isClosed else { return nil }
        return Member(key: key, value: start..<extent.end)
    }
}

/// Whether a key is this word, written plainly. Envelopes are written by programs, which escape no letters.
@inline(__always) func isKey(_ text: Bytes, _ key: Range<Int>, _ word: StaticString) -> Bool {
    guard key.count == word.utf8CodeUnitCount else { return false }
    for i in 0..<key.count where text[key.lowerBound + i] != word.utf8Start[i] { return false }
    return true
}
