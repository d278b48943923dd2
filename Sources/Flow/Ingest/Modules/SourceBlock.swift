// A block of a module, checked and copied. A line that cannot be an event is replaced by a short mark with the reason, so that the workers
// report it as invalid and the module's numbers of lines stay right.

internal import Events
internal import Glibc
internal import Platform

final class SourceBlock: Sendable {
    /// Why a block was refused.
    struct Fault: Error { let words: String }

    /// The most bytes of a block.
    static let mostBytes = 1 << 30
    /// The most bytes of the origin that are kept.
    static let mostOrigin = 1024
    /// What stands for a line that is blank or too long. It is not an event.
    private static let mark = "-\n"

    let token: UInt64
    let stream: UInt64
    /// What it counts against the limit of its source.
    let bytes: Int
    let origin: LineOrigin?
    let reasons: [Int: String]
    private let text: ByteBuffer

    init(copying raw: RawSourceBlock, lineLimit: Int) throws(Fault) {
        let lines = raw.lines
        guard !lines.isEmpty, let base = lines.baseAddress, raw.count > 0 else { throw Fault(words: "it has no line") }
        guard lines.count <= SourceBlock.mostBytes else {
            throw Fault(words: "it has \(UInt(bitPattern: lines.count)) bytes, at most \(SourceBlock.mostBytes) are allowed")
        }
        guard lines[lines.count - 1] == UInt8(ascii: "\n") else { throw Fault(words: "its last line does not end in a newline") }
        var reasons: [Int: String] = [:]
        var replaced: [(start: Int, end: Int)] = []
        var (start, count) = (0, 0)
        while start < lines.count {
            let newline = memchr(base + start, 0x0A, lines.count - start)
            guard let newline else { break }
            let end = base.distance(to: UnsafeRawPointer(newline)) + 1
            if end - 1 - start > lineLimit {
                reasons[count] = "the line is longer than \(grouped(lineLimit)) bytes"
                replaced.append((start, end))
            } else if SourceBlock.isBlank(lines, start..<end) {
                reasons[count] = "the line is empty"
                replaced.append((start, end))
            }
            count += 1
            start = end
        }
        guard count == raw.count else { throw Fault(words: "it has \(grouped(count)) lines, and its count is \(raw.count)") }
        token = raw.token
        stream = raw.stream
        self.reasons = reasons
        let numbers = raw.numbers.map { Array(UnsafeBufferPointer(start: $0, count: count)) } ?? []
        origin = raw.origin.isEmpty && numbers.isEmpty ? nil : LineOrigin(name: raw.origin, numbers: numbers)
        var text = ByteBuffer(capacity: lines.count)
        var kept = 0
        for (start, end) in replaced {
            text.append(contentsOf: UnsafeRawBufferPointer(rebasing: lines[kept..<start]))
            text.append(SourceBlock.mark)
            kept = end
        }
        text.append(contentsOf: UnsafeRawBufferPointer(rebasing: lines[kept...]))
        // The numbers of the lines are held as long as the lines are.
        bytes = lines.count + 8 * numbers.count
        self.text = text
    }

    private static func isBlank(_ lines: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        if lines[range.lowerBound] > 0x20 { return false }
        return range.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains(lines[$0]) }
    }

    /// Returns the lines for a submission. The block keeps them, since the sink may give a submission back.
    func copyLines() -> ByteBuffer {
        var copy = ByteBuffer(capacity: text.count)
        copy.append(contentsOf: text.bytes)
        return copy
    }
}
