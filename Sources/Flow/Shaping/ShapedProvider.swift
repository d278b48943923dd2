// A provider behind its shape: the filter and the transform that the configuration gives it. It takes the batches of a lane, which the second
// check has passed, and hands over shaped copies. Outcomes come back by the indices of the lane's batch. The lane, its queue and its dead
// letters never see a shaped event. Without a shape it passes everything on as it is.

public import Admission
public import Delivery
public import Judging
internal import Platform
public import Queueing

public final class ShapedProvider: Provider {
    private let provider: any Provider
    private let shaping: Monitor<BatchShaper?>
    /// The number of times that an expression of a transform had no value, over all hand-overs.
    private let errors = Monitor(0)

    /// `shape` is nil if the module gets the events as they wait.
    public init(_ provider: any Provider, _ shape: Shape?) {
        self.provider = provider
        shaping = Monitor(shape.map { BatchShaper($0) })
    }

    /// Shapes every later batch in another way.
    public func adopt(_ shape: Shape?) { shaping.withLock { $0 = shape.map { BatchShaper($0) } } }

    public var transformErrors: Int { errors.withLock { $0 } }

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        deliver(batch, attempt: attempt, asking: { _ in true }, done)
    }

    public func deliver(
        _ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        let shaped: ShapedBatch? = shaping.withLock { shaper in
            guard shaper != nil else { return nil }
            return shaper!.shape(batch)
        }
        guard let shaped else { return provider.deliver(batch, attempt: attempt, asking: asking, done) }
        if shaped.errors > 0 { errors.withLock { $0 += shaped.errors } }
        guard let given = shaped.batch else { return done(shaped.outcome(nil)) }
        // The shaped copies live until the delivery has ended, even if the provider does not keep the batch.
        provider.deliver(given, attempt: attempt, asking: shaped.asking(asking)) { outcome in
            withExtendedLifetime(given) { done(shaped.outcome(outcome)) }
        }
    }

    public func flush(_ done: @escaping @Sendable (Outcome) -> Void) { provider.flush(done) }
    public func reopen() { provider.reopen() }
    public func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { provider.onClosed(handler) }
    public func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) { provider.erase(request, done) }
    public func close() { provider.close() }
}
