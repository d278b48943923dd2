// Finds the end of a value in text that may be invalid JSON, so that one bad event does not affect its neighbours. It recognizes only
// strings and brackets, reads each byte once, and never reads beyond its limit.

internal import Events

/// The end of a value that may be malformed.
struct Extent {
    /// The place after its last byte.
    var end: Int
    /// False if the text, or the enclosing value, ends before the end of the value.
    var isClosed: Bool
}

struct Brackets: ~Copyable, @unchecked Sendable {
    /// One bit for each open bracket. It is 1 for a list.
    private var kinds: UnsafeMutablePointer<UInt64>
    private var capacity = 8

    init() {
        kinds = .allocate(capacity: capacity)
        kinds.initialize(repeating: 0, count: capacity)
    }

    deinit { kinds.deallocate() }

    /// Returns the extent of the value at `start`, which is not a blank.
    mutating func value(_ text: Bytes, start: Int, limit: Int) -> Extent {
        assert(start < limit, "a value begins after the end of the text")
        switch text[start] {
        case UInt8(ascii: "\""):
            let end = stringEnd(text, start: start, limit: limit)
            return Extent(end: end ?? limit, isClosed: end != nil)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return container(text, start: start, limit: limit)
        default:
            // A number, a literal or invalid text extends to the next blank, quote, comma or bracket.
            var i = start + 1
            while i < limit, !isBlank(text[i]), !isMark(text[i]) { i += 1 }
            return Extent(end: i, isClosed: true)
        }
    }

    /// Returns the extent of the object or list that opens at `start`. A closing bracket of the other kind also closes the brackets that
    /// were left open in between. If nothing in the value opened it, it belongs to the enclosing value.
    mutating func container(_ text: Bytes, start: Int, limit: Int) -> Extent {
        var level = 0
        var i = start
        while true {
            i = nextMark(text, start: i, limit: limit)
            guard i < limit else { return Extent(end: limit, isClosed: false) }
            assert(i >= start, "the search goes back")
            let c = text[i]
            if c == UInt8(ascii: "\"") {
                guard let end = stringEnd(text, start: i, limit: limit) else { return Extent(end: limit, isClosed: false) }
                i = end
                continue
            }
            let isList: UInt64 = c & 0x20 == 0 ? 1 : 0
            if c | 0x20 == UInt8(ascii: "{") {
                if level &>> 6 == capacity { grow() }
                let kinds = kinds
                let bit = UInt64(truncatingIfNeeded: level & 63)
                kinds[level &>> 6] = kinds[level &>> 6] & ~(1 &<< bit) | isList &<< bit
                level &+= 1
            } else {
                let kinds = kinds
                var isFound = false
                while level > 0 && !isFound {
                    level &-= 1
                    assert(level &>> 6 < capacity, "a bracket is read that was not noted")
                    isFound = kinds[level &>> 6] &>> UInt64(truncatingIfNeeded: level & 63) & 1 == isList
                }
                if !isFound { return Extent(end: i, isClosed: false) }
                if level == 0 { return Extent(end: i &+ 1, isClosed: true) }
            }
            i &+= 1
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity * 2)
        larger.initialize(repeating: 0, count: capacity * 2)
        larger.update(from: kinds, count: capacity)
        kinds.deallocate()
        kinds = larger
        capacity *= 2
    }
}

private let ones: UInt64 = 0x0101_0101_0101_0101

/// Returns a word whose lowest set bit is the top bit of the first byte of `word` that equals `byte`.
@inline(__always) private func matches(_ word: UInt64, _ byte: UInt8) -> UInt64 {
    let difference = word ^ (ones &* UInt64(byte))
    return (difference &- ones) & ~difference & (ones &* 0x80)
}

/// Returns the place after the closing quote of the string that opens at `start`, or nil if the text ends inside it.
func stringEnd(_ text: Bytes, start: Int, limit: Int) -> Int? {
    var i = start &+ 1
    while i < limit {
        while i &+ 8 <= limit {
            let word = UnsafeRawPointer(text + i).loadUnaligned(as: UInt64.self)
            let found = matches(word, UInt8(ascii: "\"")) | matches(word, UInt8(ascii: "\\"))
            if found != 0 {
                i &+= found.trailingZeroBitCount &>> 3
                break
            }
            i &+= 8
        }
        guard i < limit else { return nil }
        switch text[i] {
        case UInt8(ascii: "\""): return i &+ 1
        case UInt8(ascii: "\\"): i &+= 2
        default: i &+= 1
        }
    }
    return nil
}

/// Returns the place of the first quote or bracket at or after `start`, or the limit.
@inline(__always) private func nextMark(_ text: Bytes, start: Int, limit: Int) -> Int {
    var i = start
    while i &+ 8 <= limit {
        let word = UnsafeRawPointer(text + i).loadUnaligned(as: UInt64.self)
        // With this bit set, '[' and ']' become '{' and '}'.
        let folded = word | (ones &* 0x20)
        let found =
            matches(word, UInt8(ascii: "\"")) | matches(folded, UInt8(ascii: "{")) | matches(folded, UInt8(ascii: "}"))
        if found != 0 { return i &+ found.trailingZeroBitCount &>> 3 }
        i &+= 8
    }
    while i < limit, !isMark(text[i]) || text[i] == UInt8(ascii: ",") { i &+= 1 }
    return i
}

@inline(__always) func isBlank(_ c: UInt8) -> Bool { c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09 }

@inline(__always) private func isMark(_ c: UInt8) -> Bool {
    c == UInt8(ascii: "\"") || c == UInt8(ascii: ",") || c | 0x20 == UInt8(ascii: "{") || c | 0x20 == UInt8(ascii: "}")
}

@inline(__always) func skipBlanks(_ text: Bytes, start: Int, limit: Int) -> Int {
    var i = start
    while i < limit, isBlank(text[i]) { i &+= 1 }
    return i
}
