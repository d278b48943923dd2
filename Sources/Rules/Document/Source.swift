// The text of a file, and where an offset stands in it.

/// Something wrong at an offset of the text.
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

    /// Line and column from 1; columns count bytes.
    public func place(of offset: Int) -> (line: Int, column: Int) {
        var low = 0
        var high = lines.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, offset - lines[low] + 1)
    }

    /// Where in the file the byte stands that a string's value has at `offset`: an escape is longer than what it stands for.
    public func offset(of offset: Int, inString range: Range<Int>) -> Int {
        var at = range.lowerBound + 1
        var left = offset
        while left > 0, at < range.upperBound - 1 {
            guard bytes[at] == UInt8(ascii: "\\") else {
                at += 1
                left -= 1
                continue
            }
            var length = bytes[at + 1] == UInt8(ascii: "u") ? 6 : 2
            // Two escapes make one character beyond the first 65,536: then both are taken together.
            if length == 6, bytes[at + 2] | 0x20 == UInt8(ascii: "d"), "89abAB".utf8.contains(bytes[at + 3]) { length = 12 }
            left -=
                Syntax.decode(
                    bytes[range.lowerBound...range.lowerBound] + bytes[at..<(at + length)] + bytes[range.lowerBound...range.lowerBound]
                ).utf8.count
            at += length
        }
        return at
    }

    public func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
