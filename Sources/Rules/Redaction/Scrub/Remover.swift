// Removes the members that hold a find. From the strings with finds it computes the ranges of the event to remove. A member is removed
// with its comma and the spaces up to the next member, and the last one with the comma before it. An element of a list becomes null.

internal import Events

struct Remover: ~Copyable {
    /// An object or a list that is being read.
    private struct Level {
        var isList: Bool
        /// The position at which its first member begins.
        var first = 0
        /// The end of the last member that stays. It is 0 if none has stayed yet.
        var kept = 0
        /// The position at which the member that is being read begins.
        var key = 0
        var isKeyNext = true
        /// True if the member that is being read is removed.
        var goes = false
    }

    /// The positions of the opening quotes of the strings with finds, in order.
    private var hits = [Int]()
    private var levels = [Level]()
    private var null = 0

    init() {}

    mutating func keepTexts(_ replacements: inout Replacements) { null = replacements.keep(Array("null".utf8)) }

    @inline(__always) mutating func removeAll() { hits.removeAll(keepingCapacity: true) }

    mutating func note(_ string: Int) {
        assert(hits.last.map { $0 < string } ?? true, "the strings with finds are not in order")
        hits.append(string)
    }

    /// Appends the ranges to remove, in order.
    mutating func remove(_ block: Bytes, start: Int, end: Int, replacements: inout Replacements) {
        levels.removeAll(keepingCapacity: true)
        var hit = 0
        var valueEnd = start
        var i = start
        while i < end {
            switch block[i] {
            case UInt8(ascii: "\""):
                let stringEnd = Remover.stringEnd(block, i)
                let isHit = hit < hits.count && hits[hit] == i
                if isHit { hit += 1 }
                read(i, end: stringEnd, isHit: isHit, replacements: &replacements)
                i = stringEnd
                valueEnd = i
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): levels.append(Level(isList: block[i] == UInt8(ascii: "[")))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                close(valueEnd, &replacements)
                valueEnd = i + 1
            case UInt8(ascii: ","): endMember(valueEnd)
            case 0x20, 0x09, 0x0d: break
            default: valueEnd = i + 1
            }
            i += 1
        }
        assert(hit == hits.count, "a string with a find was not reached")
        assert(levels.isEmpty, "an object or a list of the event does not end")
    }

    private mutating func read(_ start: Int, end: Int, isHit: Bool, replacements: inout Replacements) {
        let top = levels.count - 1
        if levels[top].isList {
            if isHit { replacements.append(start, end, text: null, count: 4) }
        } else if levels[top].isKeyNext {
            // The previous member is removed up to this one.
            if levels[top].goes { replace(levels[top].key, end: start, replacements: &replacements) }
            if levels[top].first == 0 { levels[top].first = start }
            levels[top].key = start
            levels[top].goes = isHit
            levels[top].isKeyNext = false
        } else if isHit {
            levels[top].goes = true
        }
    }

    private mutating func endMember(_ valueEnd: Int) {
        let top = levels.count - 1
        if levels[top].isList { return }
        if !levels[top].goes { levels[top].kept = valueEnd }
        levels[top].isKeyNext = true
    }

    private mutating func close(_ valueEnd: Int, _ replacements: inout Replacements) {
        let level = levels.removeLast()
        assert(!level.goes || (level.kept > 0 ? level.kept : level.first) > 0, "a member is removed that never began")
        if level.goes { replace(level.kept > 0 ? level.kept : level.first, end: valueEnd, replacements: &replacements) }
    }

    /// Removes a range, together with the replacements inside it.
    private func replace(_ start: Int, end: Int, replacements: inout Replacements) {
        replacements.removeLast(from: start)
        replacements.append(start, end, text: 0, count: 0)
    }

    private static func stringEnd(_ block: Bytes, _ quote: Int) -> Int {
        var i = quote + 1
        while block[i] != UInt8(ascii: "\"") { i += block[i] == UInt8(ascii: "\\") ? 2 : 1 }
        return i + 1
    }
}
