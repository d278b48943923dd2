// Reads the JSON text of one event. The router has validated the text. Invalid text is shown in an unspecified way, but is never read
// beyond its end.

internal import PluginKit

struct JSONWalk {
    /// A member of an object. The name excludes its quotes.
    struct Member {
        var name: Range<Int>
        var value: Range<Int>
    }

    let text: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    func first(of range: Range<Int>) -> UInt8 { range.isEmpty ? 0 : text[range.lowerBound] }
    func isText(_ value: Range<Int>) -> Bool { first(of: value) == UInt8(ascii: "\"") }
    func isContainer(_ value: Range<Int>) -> Bool { first(of: value) == UInt8(ascii: "{") || first(of: value) == UInt8(ascii: "[") }

    func equals(_ range: Range<Int>, _ name: StaticString) -> Bool {
        name.withUTF8Buffer { text[range].elementsEqual($0) }
    }

    /// Returns the beginning of the range, cut between characters to at most `most` bytes.
    func cut(_ range: Range<Int>, to most: Int) -> Range<Int> {
        assert(most >= 0, "a text has a negative limit")
        guard range.count > most else { return range }
        var end = range.lowerBound + most
        while end > range.lowerBound, text[end] & 0xc0 == 0x80 { end -= 1 }
        return range.lowerBound..<end
    }

    func members(of object: Range<Int>) -> [Member] {
        var members: [Member] = []
        var position = space(from: object.lowerBound, to: object.upperBound) + 1
        while true {
            position = space(from: position, to: object.upperBound)
            guard position < object.upperBound, text[position] == UInt8(ascii: "\"") else { return members }
            let quoted = token(at: position, within: object)
            position = space(from: quoted.upperBound, to: object.upperBound) + 1
            position = space(from: position, to: object.upperBound)
            guard position < object.upperBound else { return members }
            let value = value(at: position, within: object)
            members.append(Member(name: quoted.lowerBound + 1..<max(quoted.lowerBound + 1, quoted.upperBound - 1), value: value))
            position = space(from: value.upperBound, to: object.upperBound) + 1
        }
    }

    func elements(of list: Range<Int>) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        var position = list.lowerBound + 1
        while true {
            position = space(from: position, to: list.upperBound)
            guard position < list.upperBound, text[position] != UInt8(ascii: "]") else { return elements }
            let value = value(at: position, within: list)
            elements.append(value)
            position = space(from: value.upperBound, to: list.upperBound) + 1
        }
    }

    /// Returns one string, number, literal, punctuation mark or run of spaces.
    func token(at start: Int, within range: Range<Int>) -> Range<Int> {
        assert(range.contains(start) && range.upperBound <= text.count, "a token begins outside the text")
        var position = start + 1
        switch text[start] {
        case UInt8(ascii: "\""):
            while position < range.upperBound, text[position] != UInt8(ascii: "\"") {
                position += text[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            return start..<min(position + 1, range.upperBound)
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"):
            return start..<position
        case let byte where JSONWalk.isSpace(byte):
            return start..<space(from: position, to: range.upperBound)
        default:
            while position < range.upperBound, !JSONWalk.endsScalar(text[position]) { position += 1 }
            return start..<position
        }
    }

    private func value(at start: Int, within range: Range<Int>) -> Range<Int> {
        var depth = 0
        var position = start
        repeat {
            let token = token(at: position, within: range)
            assert(token.upperBound > position, "a token has no bytes")
            switch text[position] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position = token.upperBound
        } while depth > 0 && position < range.upperBound
        return start..<position
    }

    private func space(from start: Int, to end: Int) -> Int {
        var position = start
        while position < end, JSONWalk.isSpace(text[position]) { position += 1 }
        return min(position, end)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"), UInt8(ascii: "\""): true
        default: isSpace(byte)
        }
    }
}
