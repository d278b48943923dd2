// A block of lines that a source hands over. It promises that the lines have the form that the router demands: each ends in a newline, and
// none has another newline inside.

internal import Glibc

/// Lines of one stream with a token. A source fills it, hands it over, and reuses it or makes a new one.
public struct SourceBlock {
    /// The source's own number for the block. It differs from those of all blocks that are not acknowledged yet.
    public var token: UInt64
    /// Blocks of one stream are judged in the order in which they were handed over. It is, for example, the number of a partition.
    public var stream: UInt64
    /// Where the lines come from, such as a topic and a partition: one line for people.
    public var origin: String
    public private(set) var bytes: [UInt8] = []
    /// The number of each line at its origin. It is empty if lines have none.
    public private(set) var numbers: [Int64] = []
    public private(set) var count = 0

    public init(token: UInt64, stream: UInt64 = 0, origin: String = "") {
        self.token = token
        self.stream = stream
        self.origin = origin
    }

    public var isEmpty: Bool { count == 0 }

    /// Adds an event as one line. A newline inside it becomes a carriage return, which means the same wherever JSON allows a newline, and is
    /// as invalid as a newline elsewhere. So a message of several lines is one event, and a message that is not JSON is one invalid event.
    /// Either every line of a block has a number, or none has one.
    public mutating func append(_ event: UnsafeRawBufferPointer, number: Int64? = nil) {
        let start = bytes.count
        bytes.append(contentsOf: event)
        if bytes.count > start, bytes[bytes.count - 1] == 0x0A { bytes.removeLast() }
        for index in start..<bytes.count where bytes[index] == 0x0A { bytes[index] = 0x0D }
        bytes.append(0x0A)
        add(number)
    }

    public mutating func append(_ event: some Sequence<UInt8>, number: Int64? = nil) {
        Array(event).withUnsafeBytes { append($0, number: number) }
    }

    /// Adds text of whole lines, each ended by a newline. `first` is the number of the first line, and the others follow. A blank line is
    /// left out, and has a number nevertheless. Returns the number of lines, with the blank ones.
    public mutating func append(lines text: UnsafeRawBufferPointer, first: Int64) -> Int {
        guard let base = text.baseAddress, !text.isEmpty else { return 0 }
        assert(text[text.count - 1] == 0x0A, "the last line has no end")
        var (start, kept, line) = (0, 0, 0)
        while start < text.count, let newline = memchr(base + start, 0x0A, text.count - start) {
            let end = base.distance(to: UnsafeRawPointer(newline)) + 1
            if text[start] <= 0x20, text[start..<end].allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
                bytes.append(contentsOf: text[kept..<start])
                kept = end
            } else {
                add(first + Int64(line))
            }
            line += 1
            start = end
        }
        bytes.append(contentsOf: text[kept..<start])
        return line
    }

    private mutating func add(_ number: Int64?) {
        if let number { numbers.append(number) }
        count += 1
        assert(numbers.isEmpty || numbers.count == count, "some lines of a block have numbers, and others do not")
    }

    /// Makes it empty, for another block with this token.
    public mutating func reset(token: UInt64) {
        self.token = token
        bytes.removeAll(keepingCapacity: true)
        numbers.removeAll(keepingCapacity: true)
        count = 0
    }
}

/// What became of a block that a source has handed over.
public enum Handover: Sendable, Equatable {
    /// The block was taken. Its token will be acknowledged, unless the router ends first.
    case taken
    /// There is no room now. The source hands the block over again after the next `resume`.
    case full
    /// The source is being stopped. Nothing more is taken.
    case closing
    /// The block breaks a rule, which the log of the router names.
    case wrong
}
