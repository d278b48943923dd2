// What was wrong with one line of the input, and where.

internal import Events

/// Found while a block is scanned; the line counts from the start of the block.
struct LineFault {
    /// From 1.
    var line: Int
    /// From 1, in bytes.
    var column: Int
    var message: String
    /// Where the line lies in its block; empty for a line that was not held.
    var text: Range<Int>
}
