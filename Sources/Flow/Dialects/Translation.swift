// What came of one request body: canonical events as lines, and for each event of the body its line or its fault, in order, so
// that a server can answer as the vendor's own would. It never holds more than the limits of its translator allow.

public import Events

/// What became of one event of a body.
public enum EventResult: Hashable, Sendable {
    /// It is this line of `lines`, counted from 0.
    case line(Int)
    /// It is refused: an index into `faults`.
    case fault(Int)
}

public struct Translation: ~Copyable, Sendable {
    /// The canonical events, one JSON object a line, each line ended by a newline. Each is one event to the scanner.
    public internal(set) var lines: ByteBuffer
    /// How many lines there are.
    public internal(set) var lineCount = 0
    /// One for each event of the body, in its order. Blank lines are no events.
    public internal(set) var results: [EventResult] = []
    /// Why single events were refused, in their order.
    public internal(set) var faults: [EventFault] = []
    /// Why the body could not be read, or not beyond this place. The events before it are in `lines` all the same: a server that
    /// refuses the request whole must not take them.
    public internal(set) var refusal: EventFault?
    /// The write key that the body carried (Segment), decoded. It is a secret, and is in no line.
    public internal(set) var writeKey: String?

    public init(capacity: Int = 0) { lines = ByteBuffer(capacity: capacity) }

    /// Makes room for lines of that many bytes, so that a body seldom makes the buffer grow.
    public mutating func reserve(_ bytes: Int) { lines.reserve(bytes + Block.padding + 1) }

    /// The lines, for who keeps them; an empty buffer takes their place.
    public mutating func takeLines() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &lines)
        lineCount = 0
        return taken
    }

    /// Empties it for the next body and keeps its memory.
    public mutating func removeAll() {
        lines.removeAll()
        lineCount = 0
        results.removeAll(keepingCapacity: true)
        faults.removeAll(keepingCapacity: true)
        refusal = nil
        writeKey = nil
    }
}

/// Why an event, or a body, is refused, and where.
public struct EventFault: Error, Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        /// Its JSON cannot be mended.
        case json(Fault)
        /// The text of the event is not closed before the body ends.
        case unclosed
        /// The body begins with something else: what was expected.
        case expected(StaticText)
        /// The event is larger than this.
        case tooLarge(Int)
        /// What the events of this body become is larger than this in all.
        case tooMuch(Int)
        /// The body has more events than this.
        case tooManyEvents(Int)
        /// Bytes that are no protocol buffer of this kind.
        case protobuf(StaticText)
        /// A member does not have the form that the dialect gives it.
        case form(StaticText)
    }

    public var reason: Reason
    /// Which event of the body, from 0; of a refusal, how many events were read before it.
    public var index: Int
    /// Where in the body, in bytes.
    public var offset: Int
    /// Where the text of the event stands in the body, when it has one of its own.
    public var text: Range<Int>

    init(_ reason: Reason, index: Int, offset: Int, text: Range<Int> = 0..<0) {
        self.reason = reason
        self.index = index
        self.offset = offset
        self.text = text
    }

    /// What was wrong, for a person. It quotes at most one byte of the event, since the rest may be private.
    public var message: String {
        switch reason {
        case .json(let fault): fault.message
        case .unclosed: "the body ends inside the event"
        case .expected(let what): "expected \(what)"
        case .tooLarge(let limit): "the event is larger than \(limit) bytes"
        case .tooMuch(let limit): "the events of this request become more than \(limit) bytes; send fewer at a time"
        case .tooManyEvents(let limit): "the request has more than \(limit) events; send fewer at a time"
        case .protobuf(let what), .form(let what): "\(what)"
        }
    }
}

/// A text of the program, comparable and without a copy.
public struct StaticText: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let text: StaticString
    public init(stringLiteral text: StaticString) { self.text = text }
    public var description: String { "\(text)" }
    public static func == (a: StaticText, b: StaticText) -> Bool { a.description == b.description }
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
