// What was wrong with one line of the input, and where.

internal import Events

/// Found while a block is scanned; the line counts from the start of the block.
public struct LineFault {
    /// From 1.
    public var line: Int
    /// From 1, in bytes.
    public var column: Int
    public var message: String
    /// Where the line lies in its block; empty for a line that was not held.
    public var text: Range<Int>
}
