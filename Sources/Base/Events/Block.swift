// A sequence of whole lines with the source and the time of their arrival. A source fills it, a worker scans it, and it is reused. The
// scanner relies on the promise of a sealed block: its last line ends with a newline, and 64 readable newlines follow. A block is always
// smaller than 4 GB, because slots use 32-bit offsets.

public struct Block: ~Copyable, Sendable {
    /// The number of bytes that can be read after the last line.
    public static let padding = 64
    /// The largest number of bytes that a sealed block can hold.
    public static let most = Int(UInt32.max) - padding

    /// The lines. Fill it, and then call `seal`.
    public var text: ByteBuffer
    /// The time of arrival, in nanoseconds since 1970.
    public var arrival: Int64 = 0
    /// The source of the lines, as an index into the plan's sources.
    public var source: Int = 0
    /// The number of the source's key that restricts the events, counted from 1. It is 0 if no key does.
    public var key: Int = 0

    public init(capacity: Int = 0) { text = ByteBuffer(capacity: capacity + Block.padding + 1) }

    @inlinable public var bytes: Bytes { Bytes(text.base) }
    /// The number of bytes in the lines, including line ends.
    @inlinable public var count: Int { text.count }

    /// Ends the last line if the input did not, and writes the padding after it.
    public mutating func seal() {
        if !text.isEmpty && text.base[text.count - 1] != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        precondition(text.count <= Block.most, "a block must stay under 4 GB")
        text.reserve(Block.padding)
        (text.base + text.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
    }

    /// Empties the block for the next lines and keeps its memory.
    public mutating func removeAll() {
        text.removeAll()
        arrival = 0
        source = 0
        key = 0
    }
}
