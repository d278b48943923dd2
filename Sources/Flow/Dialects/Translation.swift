// The result of one request body: canonical events as lines, and for each event of the body its line or its fault, in order. A server uses
// them to answer as the vendor's own server does. It never holds more than the limits of its translator allow.

public import Events

/// The result of one event of a body.
public enum EventResult: Hashable, Sendable {
    /// The event is this line of `lines`, counted from 0.
    case line(Int)
    /// The event is refused. The value is an index into `faults`.
    case fault(Int)
}

public struct Translation: ~Copyable, Sendable {
    /// The canonical events, one JSON object per line. Each line ends with a newline and is one event to the scanner.
    public internal(set) var lines: ByteBuffer
    /// The number of lines.
    public internal(set) var lineCount = 0
    /// The results of the events of the body, in order. Blank lines are not events.
    public internal(set) var results: [EventResult] = []
    /// The reasons for which single events were refused, in order.
    public internal(set) var faults: [EventFault] = []
    /// The reason why the body cannot be read to its end. `lines` still holds the events before that place. A server must refuse the whole
    /// request and not use them: if it answered a cut body with success, the events behind the cut would be lost.
    public internal(set) var refusal: EventFault?
    /// The decoded write key of the body (Segment). It is a secret, and the member is removed from every line.
    public internal(set) var writeKey: String?

    public init(capacity: Int = 0) { lines = ByteBuffer(capacity: capacity) }

    /// Reserves memory for lines of that many bytes, so that the buffer seldom has to grow.
    public mutating func reserve(_ bytes: Int) { lines.reserve(bytes + Block.padding + 1) }

    /// Returns the lines to their new owner, and leaves an empty buffer.
    public mutating func takeLines() -> ByteBuffer {
        var taken = ByteBuffer()
        swap(&taken, &lines)
        lineCount = 0
        return taken
    }

    /// Empties the translation for the next body and keeps its memory.
    public mutating func removeAll() {
        lines.removeAll()
        lineCount = 0
        results.removeAll(keepingCapacity: true)
        faults.removeAll(keepingCapacity: true)
        refusal = nil
        writeKey = nil
    }
}

/// The reason why an event or a body is refused, and the place.
public struct EventFault: Error, Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        /// The JSON is invalid and cannot be repaired.
        case json(Fault)
        /// The body ends before the text of the event is closed.
        case unclosed
        /// A quote or a bracket is missing, so that nobody knows where the event ends.
        case uncertain
        /// The body has something else at this place. The value says what was expected.
        case expected(StaticText)
        /// The event is larger than this many bytes.
        case tooLarge(Int)
        /// All events of this body together become larger than this many bytes.
        case tooMuch(Int)
        /// The body has more events than this.
        case tooManyEvents(Int)
        /// The bytes are not a valid protocol buffer of this kind.
        case protobuf(StaticText)
        /// A member does not have the form that the dialect demands.
        case form(StaticText)
    }

    public var reason: Reason
    /// The index of the event in the body, counted from 0. For a refusal it is the number of events that were read before.
    public var index: Int
    /// The place in the body, in bytes.
    public var offset: Int
    /// The place of the event's text in the body. It is empty if the event has no text of its own.
    public var text: Range<Int>

    init(_ reason: Reason, index: Int, offset: Int, text: Range<Int> = 0..<0) {
        self.reason = reason
        self.index = index
        self.offset = offset
        self.text = text
        assert(index >= 0 && offset >= 0, "a fault has no place")
    }

    /// The description of the fault for a person. It quotes at most one byte of the event, because the rest may be private.
    public var message: String {
        switch reason {
        case .json(let fault): fault.message
        case .unclosed: "the body ends inside the event"
        case .uncertain: "a quote or a bracket is missing or misplaced, so the end of the event is not certain"
        case .expected(let what): "expected \(what)"
        case .tooLarge(let limit): "the event is larger than \(limit) bytes"
        case .tooMuch(let limit): "the events of this request become more than \(limit) bytes; send fewer at a time"
        case .tooManyEvents(let limit): "the request has more than \(limit) events; send fewer at a time"
        case .protobuf(let what), .form(let what): "\(what)"
        }
    }
}

/// A string literal of the program that can be compared and hashed.
public struct StaticText: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    private let text: StaticString
    public init(stringLiteral text: StaticString) { self.text = text }
    public var description: String { "\(text)" }
    public static func == (a: StaticText, b: StaticText) -> Bool { a.description == b.description }
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
