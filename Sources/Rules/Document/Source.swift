// The text of a file, and the line and column of each offset in it.

/// A fault at an offset of the text.
public struct LocatedFault: Error {
    public var offset: Int
    public var message: String

    public init(offset: Int, message: String) {
        self.offset = offset
        self.message = message
    }
}

public struct Source {
    public let bytes: [UInt8]
    private let lines: [Int]

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var lines = [0]
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
        self.lines = lines
    }

    /// Returns the line and the column of an offset, both from 1. The column counts units of UTF-16, as editors and the language server
    /// protocol do: a character counts once, and one beyond the first 65,536, such as an emoji, twice.
    public func place(of offset: Int) -> (line: Int, column: Int) {
        assert((0...bytes.count).contains(offset), "a fault lies outside the text")
        var low = 0
        var high = lines.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, Source.units(bytes[lines[low]..<offset]) + 1)
    }

    /// Returns the number of units of UTF-16. Bytes that are not UTF-8 count once, as editors show them.
    public static func units(_ bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : $1 >= 0xF0 ? 2 : 1) }
    }

    /// Returns the offset in the file of the byte at `offset` in a string's value. The two differ, since an escape is longer than its
    /// character.
    public func offset(of offset: Int, inString range: Range<Int>) -> Int {
        assert(range.count >= 2 && bytes[range.lowerBound] == UInt8(ascii: "\""), "the range is not that of a string")
        var at = range.lowerBound + 1
        var left = offset
        while left > 0, at < range.upperBound - 1 {
            guard bytes[at] == UInt8(ascii: "\\") else {
                at += 1
                left -= 1
                continue
            }
            var length = bytes[at + 1] == UInt8(ascii: "u") ? 6 : 2
            // A character beyond the first 65,536 is two escapes, a surrogate pair. They are decoded together.
            if length == 6, bytes[at + 2] | 0x20 == UInt8(ascii: "d"), "89abAB".utf8.contains(bytes[at + 3]) { length = 12 }
            left -=
                Syntax.decode(
                    bytes[range.lowerBound...range.lowerBound] + bytes[at..<(at + length)] + bytes[range.lowerBound...range.lowerBound]
                ).utf8.count
            at += length
        }
        assert(at < range.upperBound, "the place lies after the closing quote")
        return at
    }

    public func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
