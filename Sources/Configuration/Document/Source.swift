// The text of a file, and where an offset stands in it.

/// Something wrong at an offset of the text.
struct LocatedFault: Error {
    var offset: Int
    var message: String
}

struct Source {
    let bytes: [UInt8]
    private let lines: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var lines = [0]
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
        self.lines = lines
    }

    /// Line and column from 1; columns count bytes.
    func place(of offset: Int) -> (line: Int, column: Int) {
        var low = 0
        var high = lines.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, offset - lines[low] + 1)
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
