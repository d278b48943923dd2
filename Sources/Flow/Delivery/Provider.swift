// The interface through which a lane uses a provider. The plugin host implements it, and so do tests.

public import Admission
public import Queueing

/// Asks the lane whether these events of a delivery may leave now: indices into the batch as it was handed over, or nil for all events. If
/// it returns true, they count as in flight. If it returns false, none of them may leave.
public typealias Asking = @Sendable (UnsafeBufferPointer<UInt64>?) -> Bool

public protocol Provider: AnyObject, Sendable {
    /// Begins to deliver the batch. `done` is called once, from any thread, perhaps before this function returns. Before events leave, the
    /// provider asks; after an answer of false it ends the delivery, and the events that did not leave are untried. The default asks once
    /// for all events and then calls `deliver` without the question.
    func deliver(_ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void)
    /// Begins to deliver a batch whose events may all leave.
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void)
    /// Asks the provider to bring everything that was delivered so far to its destination.
    func flush(_ done: @escaping @Sendable (Outcome) -> Void)
    /// Reopens files that were moved away.
    func reopen()
    /// Registers a handler that is called when the destination is found to be gone for good while nothing is being delivered.
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void)
    /// Asks the provider to erase subjects at its destination. It is called from a thread of its own, also during a delivery. `done` is
    /// called once, from any thread, perhaps before this function returns.
    func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void)
    /// Closes the provider. Nothing is called after it.
    func close()
}

extension Provider {
    public func deliver(
        _ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        guard asking(nil) else { return done(BatchOutcome(.untried)) }
        deliver(batch, attempt: attempt, done)
    }
}
