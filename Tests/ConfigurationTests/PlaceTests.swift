// The line and the column of each offset of a file, against the plain count.

import Testing

@testable import Document

@Suite("A place in a file")
struct PlaceTests {
    @Test(
        "is the number of the line and of the UTF-16 unit in it, also far into a long line",
        arguments: [0, 1, 4095, 4096, 4097, 8192, 20_000])
    func places(length: Int) {
        // Characters of one to four bytes, of which the last kind counts twice, and a byte that is not UTF-8.
        let pattern = Array("aä€😀".utf8) + [0xFF]
        for lineEnds in [Set<Int>(), [0, 4096, 5000], [4095]] {
            let bytes = (0..<length).map { lineEnds.contains($0) ? UInt8(ascii: "\n") : pattern[$0 % pattern.count] }
            let source = Source(bytes)
            var (line, column) = (1, 1)
            var wrong: [Int] = []
            // Each place is counted from the start of a block of 4,096 bytes, so only some places inside of a block are asked for.
            let asked = { (offset: Int) in offset % 61 == 0 || (offset + 8) % 4096 < 16 || lineEnds.contains { abs($0 - offset) < 8 } }
            for offset in 0...length {
                if asked(offset) || offset == length {
                    let place = source.place(of: offset)
                    if place.line != line || place.column != column { wrong.append(offset) }
                }
                guard offset < length else { break }
                let byte = bytes[offset]
                if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 1) } else { column += Source.units([byte]) }
            }
            #expect(wrong == [], "in \(length) bytes with line ends at \(lineEnds.sorted())")
        }
    }
}
