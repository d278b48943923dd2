// Describes what is wrong with one line of the input, and where.

internal import Events

/// A fault that was found while a block was scanned. Lines count from the start of the block.
public struct LineFault {
    /// The line number, counted from 1.
    public var line: Int
    /// The column in bytes, counted from 1.
    public var column: Int
    public var message: String
    /// The position of the line in its block. It is empty for a line that was not held.
    public var text: Range<Int>
    /// Where the line comes from, if its source says more than the number of the line.
    public var origin: Origin?

    public struct Origin: Equatable, Sendable {
        /// Such as a topic and a partition. It may be empty.
        public var name: String
        /// The number of the line there, such as its offset.
        public var number: Int64?

        public init(name: String, number: Int64?) {
            self.name = name
            self.number = number
        }
    }
}
