// The lines of a batch as the scanner needs them: it reads up to 64 bytes after a line, so the last lines are copied to memory that has them.
// It never reads outside the memory of the batch.

package import Events
package import PluginKit

package struct PaddedLines: ~Copyable {
    /// The last lines of the batch, and the newlines after them.
    private var tail = Block()
    private var lines: Lines?
    private var firstOfTail = 0

    package init() {}

    /// Begins a batch, whose memory must outlive the reading.
    package mutating func begin(_ lines: Lines) {
        self.lines = lines
        firstOfTail = lines.whole(within: max(0, lines.bytes.count - Block.padding))
        tail.removeAll()
        if firstOfTail < lines.count {
            tail.text.append(contentsOf: UnsafeRawBufferPointer(rebasing: lines.bytes[lines.start(of: firstOfTail)...]))
        }
        tail.seal()
    }

    /// Returns where a line of the batch begins, with at least 64 readable bytes after its newline. It is nil before the first batch.
    package func line(_ index: Int) -> Bytes? {
        guard let lines else { return nil }
        let start = lines.start(of: index)
        if index < firstOfTail { return lines.bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self) + start }
        return tail.bytes + (start - lines.start(of: firstOfTail))
    }
}
