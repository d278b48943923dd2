// Decides if the end of an element that is not an event is certain. A missing quote or bracket makes an element seem to end at a wrong place,
// so that it swallows the events after it, or splits. Then nobody knows where the next event begins, and the whole list is refused. If only
// a value, an escape or a name inside the element is wrong, its end is certain, and it can be refused alone.

internal import Events

struct Structure: ~Copyable {
    /// The kind of each open bracket: true for an object.
    private var isObject: [Bool] = []
    /// The last token: a bracket, a comma, a colon, a quote for a string, or a letter for anything else.
    private var previous = UInt8(ascii: ",")

    /// Returns true if every quote and bracket of the element [start, end) is at a place where one can be, and `next`, the first byte behind
    /// it that is not blank, can follow an element. It is nil at the end of the text.
    mutating func isCertain(_ text: Bytes, start: Int, end: Int, next: UInt8?) -> Bool {
        isObject.removeAll(keepingCapacity: true)
        previous = UInt8(ascii: ",")
        var i = start
        while i < end {
            let c = text[i]
            if isBlank(c) {
                i += 1
                continue
            }
            guard takes(c) else { return false }
            if c == UInt8(ascii: "\"") {
                guard let stringEnd = stringEnd(text, start: i, limit: end) else { return false }
                i = stringEnd
            } else {
                i += 1
            }
        }
        guard isObject.isEmpty, let next else { return false }
        // Elements may follow each other without a comma, if the first one ends in a bracket.
        return next == UInt8(ascii: ",") || next == UInt8(ascii: "]") || next == UInt8(ascii: "{") && previous == UInt8(ascii: "}")
    }

    /// Notes the token that begins with `c`. Returns false if it cannot follow the token before.
    private mutating func takes(_ c: UInt8) -> Bool {
        let inObject = isObject.last == true
        let follows: Bool
        switch c {
        case UInt8(ascii: "\""): follows = isOpening || previous == UInt8(ascii: ":")
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            follows = inObject ? previous == UInt8(ascii: ":") : isOpening
            isObject.append(c == UInt8(ascii: "{"))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): follows = isObject.popLast() == (c == UInt8(ascii: "}"))
        case UInt8(ascii: ","): follows = !isObject.isEmpty
        case UInt8(ascii: ":"): follows = inObject && (previous == UInt8(ascii: "\"") || previous == Structure.word)
        default:
            follows = isOpening || previous == UInt8(ascii: ":") || previous == Structure.word
            previous = Structure.word
            return follows
        }
        previous = c
        return follows
    }

    /// True behind a token that a value or a key can follow.
    private var isOpening: Bool {
        previous == UInt8(ascii: ",") || previous == UInt8(ascii: "{") || previous == UInt8(ascii: "[")
    }

    /// Stands for a number, a literal or anything else that is neither a string nor a mark.
    private static let word = UInt8(ascii: "a")
}
