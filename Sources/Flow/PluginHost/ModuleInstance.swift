// One provider of routes.json, made by a module in this process. It calls the module as switchyard_plugin.h promises and translates the
// module's answers into outcomes. It calls each `done` exactly once, whatever the module does. It does not limit how many deliveries are
// under way; the lane does.

public import Admission
internal import CSwitchyardPlugin
public import Delivery
internal import Platform
public import Queueing

public final class ModuleInstance: Provider, @unchecked Sendable {
    private struct Life {
        /// The number of calls of the module that have not returned.
        var inside = 0
        var isClosed = false
        /// The memory that the module may still read until destroy has returned.
        var loans: [Callbacks.Borrow] = []
        var isDestroyed = false
    }

    let table: switchyard_plugin
    let handle: UnsafeMutableRawPointer
    let callbacks: Callbacks
    let visitor: ExitGuard.Visitor
    /// True if the module asks before each request begins.
    let asks: Bool
    /// What a person does at the destination to erase someone without the module. It is empty if the module does not say it.
    let byHand: String
    private let life = Monitor(Life())

    init(
        table: switchyard_plugin, handle: UnsafeMutableRawPointer, asks: Bool, byHand: String, callbacks: Callbacks,
        visitor: ExitGuard.Visitor
    ) {
        self.table = table
        self.asks = asks
        self.byHand = byHand
        self.handle = handle
        self.callbacks = callbacks
        self.visitor = visitor
    }

    deinit { close() }

    /// The number of completions of deliveries that were not under way.
    public var strayCompletions: Int { callbacks.strays }

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        deliver(lent: batch, attempt: attempt, done)
    }

    public func deliver(
        _ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        deliver(lent: batch, attempt: attempt, asking: asking, done)
    }

    /// Delivers a batch. A module that does not ask has begun with all events when it is called.
    public func deliver(
        lent batch: any BorrowedBatch, attempt: Int, asking: @escaping Asking = { _ in true },
        _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        guard asks || asking(nil) else { return done(BatchOutcome(.untried)) }
        guard enter() else {
            done(BatchOutcome(.retry(Answer("the provider is closed"), after: nil)))
            return
        }
        let loan = callbacks.begin(batch, attempt: attempt, asking: asking, done)
        // The loan must outlive the call, since the module may end the delivery and then read the batch.
        withExtendedLifetime(loan) { visitor.during(.deliver) { table.deliver(handle, loan.table) } }
        leave()
    }

    public func flush(_ done: @escaping @Sendable (Outcome) -> Void) {
        guard let flush = table.flush else {
            done(.delivered)
            return
        }
        guard enter() else {
            done(.retry(Answer("the provider is closed"), after: nil))
            return
        }
        let token = callbacks.beginFlush(done)
        visitor.during(.flush) { flush(handle, token) }
        leave()
    }

    public func reopen() {
        guard let reopen = table.reopen, enter() else { return }
        visitor.during(.reopen) { reopen(handle) }
        leave()
    }

    public func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { callbacks.onClosed(handler) }

    /// Ends all deliveries under way as unknown and destroys the instance. It never waits for a call of the module that hangs:
    /// in that case, the thread that returns from the last such call destroys the instance. Do not call it from
    /// within a `done`: in destroy, a module may join the thread on which it ends deliveries.
    public func close() {
        let isLast: Bool? = life.withLock { life in
            guard !life.isClosed else { return nil }
            life.isClosed = true
            return life.inside == 0
        }
        guard let isLast else { return }
        if isLast {
            // Call destroy first, since the module may still end deliveries in it.
            visitor.during(.destroy) { table.destroy(handle) }
            _ = callbacks.end()
        } else {
            let loans = callbacks.end()
            life.withLock { $0.loans = $0.isDestroyed ? [] : loans }
        }
    }

    /// Returns true if the module may be called. In that case, the caller must call `leave` afterwards.
    func enter() -> Bool {
        life.withLock { life in
            guard !life.isClosed else { return false }
            life.inside += 1
            return true
        }
    }

    func leave() {
        let isLast = life.withLock { life in
            life.inside -= 1
            assert(life.inside >= 0, "a call of the module returned twice")
            return life.isClosed && life.inside == 0
        }
        guard isLast else { return }
        visitor.during(.destroy) { table.destroy(handle) }
        // A delivery may have begun after `close` ended those under way.
        _ = callbacks.end()
        life.withLock { life in
            assert(!life.isDestroyed, "an instance was destroyed twice")
            life.isDestroyed = true
            life.loans = []
        }
    }
}
