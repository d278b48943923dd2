// Cuts a body into events: lines, an array's elements, or objects that stand one behind the other. It finds where each
// begins and ends and nothing more: whether it is JSON, the scanner says later, of each event alone.

internal import Events
internal import Glibc

enum NativeBody {
    /// Told by the content: an array, or objects, of which a line holds one each unless the first goes over its line.
    static func any(_ body: UnsafeRawBufferPointer, into translation: inout Translation) throws(Refusal) {
        let start = skipBlanks(body, 0)
        guard start < body.count else { return }
        if body[start] == UInt8(ascii: "[") { return try array(body, from: start + 1, into: &translation) }
        guard body[start] == UInt8(ascii: "{"), valueEnd(body, start, stopAt: .lineEnd) == nil else {
            return try lines(body, into: &translation)
        }
        try objects(body, from: start, into: &translation)
    }

    /// Each line that is not blank is an event.
    static func lines(_ body: UnsafeRawBufferPointer, into translation: inout Translation) throws(Refusal) {
        var at = 0
        while at < body.count {
            let end = lineEnd(body, at)
            if skipBlanks(body, at) < end { try translation.add(UnsafeRawBufferPointer(rebasing: body[at..<end])) }
            at = end + 1
        }
    }

    /// Objects one behind the other, which may go over several lines.
    private static func objects(_ body: UnsafeRawBufferPointer, from start: Int, into translation: inout Translation) throws(Refusal) {
        var at = start
        while true {
            at = skipBlanks(body, at)
            if at >= body.count { return }
            if body[at] == UInt8(ascii: "{"), let end = valueEnd(body, at, stopAt: .brokenString) {
                try add(UnsafeRawBufferPointer(rebasing: body[at..<end]), into: &translation)
                at = end
            } else {
                try translation.refuse("expected a whole JSON object from byte \(at) of the body on")
                // What is broken costs no object that begins a line of its own.
                repeat { at = lineEnd(body, at) + 1 } while at < body.count && body[at] != UInt8(ascii: "{")
            }
        }
    }

    /// The elements of an array. Where it is broken nothing behind can be told apart: that is one more event, refused.
    private static func array(_ body: UnsafeRawBufferPointer, from start: Int, into translation: inout Translation) throws(Refusal) {
        var at = skipBlanks(body, start)
        if at < body.count, body[at] == UInt8(ascii: "]") { return try expectEnd(body, at + 1, &translation) }
        while true {
            at = skipBlanks(body, at)
            guard at < body.count, let end = valueEnd(body, at), end > at else {
                return try translation.refuse("the array is broken at byte \(min(at, body.count)) of the body")
            }
            let next = skipBlanks(body, end)
            guard next < body.count, body[next] == UInt8(ascii: ",") || body[next] == UInt8(ascii: "]") else {
                // The element itself is whole when nothing follows: only the array was cut off.
                if next == body.count { try add(UnsafeRawBufferPointer(rebasing: body[at..<end]), into: &translation) }
                return try translation.refuse("the array is broken at byte \(next) of the body")
            }
            try add(UnsafeRawBufferPointer(rebasing: body[at..<end]), into: &translation)
            if body[next] == UInt8(ascii: "]") { return try expectEnd(body, next + 1, &translation) }
            at = next + 1
        }
    }

    private static func expectEnd(_ body: UnsafeRawBufferPointer, _ at: Int, _ translation: inout Translation) throws(Refusal) {
        let rest = skipBlanks(body, at)
        if rest < body.count { try translation.refuse("the array has ended, expected nothing at byte \(rest) of the body") }
    }

    /// One line of it: the line breaks between its members become spaces, which mean the same.
    private static func add(_ event: UnsafeRawBufferPointer, into translation: inout Translation) throws(Refusal) {
        guard memchr(event.baseAddress!, 0x0a, event.count) != nil else { return try translation.add(event) }
        let line = UnsafeMutableRawBufferPointer.allocate(byteCount: event.count, alignment: 1)
        defer { line.deallocate() }
        line.copyMemory(from: event)
        var isInString = false
        var at = 0
        while at < line.count {
            switch line[at] {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\") where isInString: at += 1
            case UInt8(ascii: "\n"):
                if isInString { return try translation.refuse("a line break in a string must be escaped") }
                line[at] = UInt8(ascii: " ")
            default: break
            }
            at += 1
        }
        // An escape of a line break, which JSON does not have, was stepped over.
        if memchr(line.baseAddress!, 0x0a, line.count) != nil { return try translation.refuse("a line break in a string must be escaped") }
        try translation.add(UnsafeRawBufferPointer(line))
    }

    private static func skipBlanks(_ body: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var at = start
        while at < body.count, body[at] == 0x20 || (0x09...0x0d).contains(body[at]) && body[at] != 0x0b && body[at] != 0x0c { at += 1 }
        return at
    }

    private static func lineEnd(_ body: UnsafeRawBufferPointer, _ start: Int) -> Int {
        guard let newline = memchr(body.baseAddress! + start, 0x0a, body.count - start) else { return body.count }
        return UnsafeRawPointer(newline) - body.baseAddress!
    }

    private enum Stop { case never, brokenString, lineEnd }

    /// One past the value that begins at `start`; nil when the body ends inside it, or what it is to stop at comes first.
    private static func valueEnd(_ body: UnsafeRawBufferPointer, _ start: Int, stopAt stop: Stop = .never) -> Int? {
        var depth = 0
        var at = start
        while at < body.count {
            switch body[at] {
            case UInt8(ascii: "\""):
                at += 1
                while at < body.count, body[at] != UInt8(ascii: "\"") {
                    if stop != .never, body[at] == UInt8(ascii: "\n") { return nil }
                    at += body[at] == UInt8(ascii: "\\") ? 2 : 1
                }
                guard at < body.count else { return nil }
                if depth == 0 { return at + 1 }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return at }
                depth -= 1
                if depth == 0 { return at + 1 }
            case UInt8(ascii: ",") where depth == 0: return at
            case UInt8(ascii: "\n") where stop == .lineEnd: return nil
            case 0x09, 0x0a, 0x0d, 0x20:
                // The end of a bare word, a number or a literal.
                if depth == 0 { return at }
            default: break
            }
            at += 1
        }
        return depth == 0 ? at : nil
    }
}
