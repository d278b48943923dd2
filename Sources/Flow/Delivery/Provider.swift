// The interface through which a lane uses a provider. The plugin host implements it, and so do tests.

public import Admission
public import Queueing

public protocol Provider: AnyObject, Sendable {
    /// Begins to deliver the batch. `done` is called once, from any thread, perhaps before this function returns.
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
