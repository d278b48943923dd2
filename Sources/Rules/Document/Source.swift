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
    /// The number of units of UTF-16 before each multiple of `stride`, so that a file on one line is not counted anew for each place in it.
    private let unitsBefore: [Int]
    private static let stride = 4096

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var lines = [0]
        var unitsBefore: [Int] = []
        var units = 0
        for (offset, byte) in bytes.enumerated() {
            if offset % Source.stride == 0 { unitsBefore.append(units) }
            units += Source.units(of: byte)
            if byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
        }
        if bytes.count % Source.stride == 0 { unitsBefore.append(units) }
        self.lines = lines
        self.unitsBefore = unitsBefore
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
        return (low + 1, units(before: offset) - units(before: lines[low]) + 1)
    }

    private func units(before offset: Int) -> Int {
        let block = offset / Source.stride
        return unitsBefore[block] + Source.units(bytes[(block * Source.stride)..<offset])
    }

    /// Returns the number of units of UTF-16. Bytes that are not UTF-8 count once, as editors show them.
    public static func units(_ bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) { $0 + units(of: $1) }
    }

    /// The first byte of a character counts for all of it.
    private static func units(of byte: UInt8) -> Int { byte & 0xC0 == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1 }

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
