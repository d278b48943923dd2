// What a provider answers for a batch and for each of its events.

public enum Outcome: Sendable, Equatable {
    case delivered
    /// Left out by the configuration of the provider, which did not get it.
    case filtered(Exclusion)
    /// Not sent, since the call had no space for it, or since an event beside it must not leave any more. It is handed over next, as if it
    /// had not been tried.
    case untried
    /// Refused for good. A refused batch is halved until the bad event is alone in its batch.
    case rejected(Answer)
    /// Not taken now. It is sent again, after the given time if the provider named one. A time for the whole batch pauses the lane: nothing
    /// is handed over before it. A time for single events delays only these events.
    case retry(Answer, after: Duration?)
    /// It may have been delivered. It is sent again with the same message ids.
    case unknown(Answer)
    /// The configuration is wrong, not the events. They are kept, and the lane probes until the configuration works.
    case fault(Answer)
    /// The destination is gone for good. The lane ends.
    case closed(Answer)
}

/// Why the configuration of a provider leaves an event out. The raw values are the words that accounts use.
public enum Exclusion: String, Sendable, CaseIterable {
    case events, match, not
    case `where`
    /// The expression of `where` fails on the event.
    case whereErrors = "where_errors"
    /// A step of the transform withholds the event.
    case withheld
}

/// The provider's code and message for an outcome.
public struct Answer: Sendable, Equatable {
    public var code: Int
    public var message: String
    /// The message without what it repeats of the events, for the log. It is nil if the message repeats nothing.
    public var shown: String?
    public init(code: Int = 0, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The outcome of a batch, and the outcomes of single events that differ from it.
public struct BatchOutcome: Sendable, Equatable {
    public var batch: Outcome
    /// The outcomes by event index. Every index is within the batch.
    public var events: [Int: Outcome]
    public init(_ batch: Outcome, events: [Int: Outcome] = [:]) {
        self.batch = batch
        self.events = events
    }
}
