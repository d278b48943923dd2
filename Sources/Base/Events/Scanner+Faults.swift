// Records why a line is not an event, and at which byte. These functions are never inlined, to keep the loop of the scanner small.

extension Scanner {
    @inline(never) mutating func fail(_ kind: Fault.Kind, text: Bytes, i: Int, member: Path? = nil) -> Bool {
        var i = i
        if text[i] == UInt8(ascii: "\n") && i > 0 && text[i - 1] == UInt8(ascii: "\r") { i -= 1 }
        let isLineEnd = text[i] == UInt8(ascii: "\n") || (text[i] == UInt8(ascii: "\r") && text[i + 1] == UInt8(ascii: "\n"))
        fault = Fault(
            kind, offset: UInt32(i), found: text[i], isLineEnd: isLineEnd, member: member, limit: kind == .depth ? depth : 0)
        return false
    }

    /// Fails in functions that return a place. The result 0 is never a valid place, because the event begins before every such place.
    @inline(never) mutating func failAt(_ kind: Fault.Kind, text: Bytes, i: Int) -> Int {
        _ = fail(kind, text: text, i: i)
        return 0
    }

    @inline(never) mutating func failBeforeObject(_ text: Bytes, start: Int, i: Int) -> Bool {
        let isMark = i == start && text[i] == 0xef && text[i + 1] == 0xbb && text[i + 2] == 0xbf
        return fail(text[i] == UInt8(ascii: "\n") ? .blank : isMark ? .byteOrderMark : .notAnObject, text: text, i: i)
    }

    @inline(never) mutating func failDuplicate(_ slot: Int, text: Bytes, key: Int) -> Bool {
        fail(.duplicate, text: text, i: key, member: paths.path(of: slot))
    }

    /// Distinguishes a misspelled literal from text that cannot begin a value.
    @inline(never) mutating func failValue(_ text: Bytes, _ i: Int) -> Int {
        let literal: StaticString
        switch text[i] {
        case UInt8(ascii: "t"): literal = "true"
        case UInt8(ascii: "f"): literal = "false"
        case UInt8(ascii: "n"): literal = "null"
        default: return failAt(.expectedValue, text: text, i: i)
        }
        var n = 1
        while text[i + n] == literal.utf8Start[n] { n += 1 }
        return failAt(.literal, text: text, i: i + n)
    }

    @inline(never) mutating func failNumber(_ text: Bytes, _ i: Int) -> Int {
        failAt(isDigit(text[i]) ? .leadingZero : .number, text: text, i: i)
    }
}
