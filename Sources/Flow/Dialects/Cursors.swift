// Iterates over the members of an object or the elements of a list that may be malformed, and returns those that can be separated. It uses
// `Brackets` and validates nothing; the caller must validate each value.

internal import Events

/// The elements of a list. Extra and missing commas are ignored.
struct ListCursor {
    private(set) var at: Int
    private let limit: Int
    /// True if the closing bracket was passed.
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
        let extent = brackets.value(text, start: at, limit: limit)
        assert(extent.end >= start && extent.end <= limit, "an element ends before it begins, or after its list")
        at = max(extent.end, at + 1)
        return (start, extent)
    }
}

/// The members of an object.
struct MemberCursor {
    struct Member {
        /// The text between the quotes of the key, still escaped.
        var key: Range<Int>
        var value: Range<Int>
    }

    private(set) var at: Int
    private let limit: Int
    /// True if the closing bracket was passed. If it is false and there is no next member, `at` is the place of the error.
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
        guard text[at] == UInt8(ascii: "\""), let keyEnd = stringEnd(text, start: at, limit: limit) else { return nil }
        let key = at + 1..<keyEnd - 1
        let colon = skipBlanks(text, start: keyEnd, limit: limit)
        guard colon < limit, text[colon] == UInt8(ascii: ":") else {
            at = colon
            return nil
        }
        let start = skipBlanks(text, start: colon + 1, limit: limit)
        guard start < limit, text[start] != UInt8(ascii: "}"), text[start] != UInt8(ascii: ",") else {
            at = start
            return nil
        }
        let extent = brackets.value(text, start: start, limit: limit)
        assert(extent.end > start && extent.end <= limit, "a member ends before it begins, or after its object")
        at = extent.end
        guard extent.isClosed else { return nil }
        return Member(key: key, value: start..<extent.end)
    }
}

/// Returns true if a key is this word, written without escapes. Programs write the envelopes, and they do not escape letters.
@inline(__always) func isKey(_ text: Bytes, key: Range<Int>, word: StaticString) -> Bool {
    guard key.count == word.utf8CodeUnitCount else { return false }
    for i in 0..<key.count where text[key.lowerBound + i] != word.utf8Start[i] { return false }
    return true
}
