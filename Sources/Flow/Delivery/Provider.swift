// What a lane asks of a provider. The plugin host is one; tests are others.

public import Admission

public enum Outcome: Sendable, Equatable {
    case delivered
    /// Refused for good. A whole batch is halved until the bad event stands alone.
    case rejected(Answer)
    /// Not taken now; to be sent again, after that time if the provider named one. Of a whole batch the time is the provider's own:
    /// nothing at all is handed over until then. Of single events it is theirs.
    case retry(Answer, after: Duration?)
    /// It may have been delivered: it is sent again with the same message ids.
    case unknown(Answer)
    /// The configuration is at fault, not the events: they are kept, and the lane probes until it is mended.
    case fault(Answer)
    /// The destination is gone for good: the lane ends.
    case closed(Answer)
}

/// The provider's own words.
public struct Answer: Sendable, Equatable {
    public var code: Int
    public var message: String
    public init(code: Int = 0, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The outcome of a batch, and of the events in it that fared otherwise.
public struct BatchOutcome: Sendable, Equatable {
    public var batch: Outcome
    /// By index; every index lies within the batch.
    public var events: [Int: Outcome]
    public init(_ batch: Outcome, events: [Int: Outcome] = [:]) {
        self.batch = batch
        self.events = events
    }
}

public protocol Provider: AnyObject, Sendable {
    /// Begins to deliver the batch; `done` is called once, from any thread, also before this returns.
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void)
    /// Everything delivered so far is to be where it belongs.
    func flush(_ done: @escaping @Sendable (Outcome) -> Void)
    /// Opens anew what was moved away.
    func reopen()
    /// Calls `handler` when the destination is found to be gone for good while nothing is being delivered.
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void)
    /// Ends the provider; after it nothing is called.
    func close()
}
