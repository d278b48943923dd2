// A run of whole lines with where and when they came in: what a source fills and a worker scans, then recycled.
// A sealed block promises what the scanner relies on: its last line is ended and 64 readable newlines stand behind it.
// It never reaches 4 GB, since slots count in 32 bits.

public struct Block: ~Copyable, Sendable {
    /// How many bytes behind the last line can be read.
    public static let padding = 64
    /// The most bytes that a sealed block can hold.
    public static let most = Int(UInt32.max) - padding

    /// The lines. Fill it, then `seal`.
    public var text: ByteBuffer
    /// When the block came in, in nanoseconds since 1970.
    public var arrival: Int64 = 0
    /// Which source it came from: an index into the plan's sources.
    public var source: Int = 0
    /// Which of the source's keys says what it may, counted from 1; 0: none does.
    public var key: Int = 0

    public init(capacity: Int = 0) { text = ByteBuffer(capacity: capacity + Block.padding + 1) }

    @inlinable public var bytes: Bytes { Bytes(text.base) }
    /// How many bytes the lines have, line ends included.
    @inlinable public var count: Int { text.count }

    /// Ends the last line if the input did not, and writes the padding behind it.
    public mutating func seal() {
        if !text.isEmpty && text.base[text.count - 1] != UInt8(ascii: "\n") { text.append(UInt8(ascii: "\n")) }
        precondition(text.count <= Block.most, "a block must stay under 4 GB")
        text.reserve(Block.padding)
        (text.base + text.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
    }

    /// Empties it for the next lines and keeps its memory.
    public mutating func removeAll() {
        text.removeAll()
        arrival = 0
        source = 0
        key = 0
    }
}
