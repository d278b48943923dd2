// The seam between those who take requests and the router: lines go in, one answer comes back. It promises that a sink
// that took lines answers for them exactly once, when every event is where the configuration promises, or cannot be.

public import Events

/// Where a listener's events go.
public protocol EventSink: AnyObject, Sendable {
    /// Takes whole lines, each one event, none blank. `answer` is called once, from any thread, perhaps before this returns.
    /// `key`: which of the source's keys says what they may, counted from 1; 0: none does.
    /// False, taking nothing and calling nothing, when there is no room now: the client is told to come back.
    func submit(_ lines: consuming ByteBuffer, source: Int, key: Int, answer: @escaping @Sendable (Submission) -> Void) -> Bool
}

/// What became of submitted lines.
public enum Submission: Sendable, Equatable {
    /// Every line is where the configuration promises, save those that are no events, in rising order.
    case stored(invalid: [InvalidLine])
    /// None of them could be kept now; how long the client should wait, in seconds.
    case overloaded(retryAfter: Int)
    /// The router is ending, and none of them was kept.
    case closing
}

/// A submitted line that is no event.
public struct InvalidLine: Sendable, Equatable {
    /// Counted from 0 among the lines that were submitted together.
    public var line: Int
    public var message: String
    public init(line: Int, message: String) {
        self.line = line
        self.message = message
    }
}
