// Tells the source of some events when all of them have come to their end. Parcels carry the mark, and so does every batch that is made of
// their events, whole or in part. When the last of these is gone, nothing of the events waits anywhere any more, and the mark says so. So
// no place that ends events can forget to say it. A place that loses events says that first, and the mark then says it too.

internal import Platform

public final class EndMark: Sendable {
    private let isLost = Monitor(false)
    private let ended: @Sendable (_ isLost: Bool) -> Void

    /// `ended` is called exactly once, by the thread that drops the last batch, which may hold the lock of a lane. So it must not wait and
    /// must not call a lane. It gets true if some of the events were lost.
    public init(_ ended: @escaping @Sendable (_ isLost: Bool) -> Void) { self.ended = ended }

    /// Notes that some of the events are lost: they are neither delivered nor kept, and no rule demanded that they go.
    public func noteLoss() { isLost.withLock { $0 = true } }

    deinit { ended(isLost.withLock { $0 }) }
}

extension [EndMark] {
    /// Adds the marks that are not here yet.
    mutating func add(_ marks: [EndMark]) {
        for mark in marks where !contains(where: { $0 === mark }) { append(mark) }
    }
}

extension Batch {
    /// Notes that events of the batch are lost.
    public func noteLoss() {
        for mark in marks { mark.noteLoss() }
    }
}
