// The interface between the listeners and file sources on one side and the router on the other. Lines go in, and one answer comes back. A
// sink that has taken lines promises to answer exactly once: when every event is where the configuration promises, or when that is
// impossible.

public import Events
public import Platform

/// The sender of submitted lines.
public struct Submitter: Sendable {
    /// The index of its source.
    public var source: Int
    /// The number of the source's key that restricts its events, counted from 1. It is 0 if no key does.
    public var key: Int
    /// The time by which it must be answered. If it is nil, the sink chooses the time.
    public var deadline: Instant?
    /// Returns false if it has left, so that nobody would read the answer. If it is nil, the submitter never leaves.
    public var isThere: (@Sendable () -> Bool)?
    /// True if its thread calls `judgeOffers` of the sink soon, before it waits for anything.
    public var offers = false
    /// True if it is answered only when every event has come to its end: delivered, on disk, kept as a dead letter, or left out by a rule of
    /// the configuration. Otherwise a place in a queue in memory is enough.
    public var awaitsEnd = false
    /// Called when the lines can no longer be given back, before the answer, by a thread that must not wait.
    public var taken: (@Sendable () -> Void)?

    /// Why a line is not an event, by its index, if the line itself does not show it. The sink gives this reason in its answer and wherever
    /// it reports the line. It may only name lines that are not events.
    public var reasons: [Int: String] = [:]
    /// Where the lines come from, if that tells more than the number of a line.
    public var origin: LineOrigin?

    public init(source: Int, key: Int = 0, deadline: Instant? = nil, isThere: (@Sendable () -> Bool)? = nil) {
        self.source = source
        self.key = key
        self.deadline = deadline
        self.isThere = isThere
    }
}

/// Where submitted lines come from, for reports about single lines.
public struct LineOrigin: Sendable, Equatable {
    /// One line of text, such as a topic and a partition. It may be empty.
    public var name: String
    /// The number of each line at its origin, such as its offset. It is empty if lines have none.
    public var numbers: [Int64]

    public init(name: String, numbers: [Int64]) {
        self.name = name
        self.numbers = numbers
    }
}

/// The receiver of the events of a source.
public protocol EventSink: AnyObject, Sendable {
    /// Takes whole lines, each one event and none blank. `answer` is called once, from any thread, perhaps before this returns. Returns
    /// false, taking nothing and calling nothing, if the sink is full. Then the client must send again later.
    func submit(_ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void) -> Bool

    /// Judges what the calling thread has submitted as offers, or lets a worker do it. It never waits.
    func judgeOffers()
}

extension EventSink {
    public func judgeOffers() {}
}

/// The result for submitted lines.
public enum Submission: Sendable, Equatable {
    /// Every line is where the configuration promises, except those that are not events. They are listed in ascending order.
    case stored(invalid: [InvalidLine])
    /// None of the lines could be kept now. The value is the number of seconds that the client should wait.
    case overloaded(retryAfter: Int)
    /// The router is ending, and none of the lines was kept.
    case closing
    /// Some of the events were lost after they were taken, and must be sent again. Only a submitter that awaits their end gets this.
    case lost
}

/// A submitted line that is not an event.
public struct InvalidLine: Sendable, Equatable {
    /// The index of the line among the lines that were submitted together, counted from 0.
    public var line: Int
    public var message: String
    public init(line: Int, message: String) {
        self.line = line
        self.message = message
    }
}
