// Events that were rejected before they came into the lane, because they violate the tracking plan. They go to the dead letters at once, on the
// thread that brings them: they have their verdict already, and the lane's account does not count them among its events.

public import Admission
internal import Platform
public import Queueing

extension Lane {
    /// Keeps the events as dead letters. When it returns, they are on disk, or they are counted as lost and reported. Returns the number of
    /// those that are lost.
    public func keep(rejected batch: Batch, _ answer: Answer) -> Int {
        let (lost, _) = deadLetters.bury(
            batch, provider: name, routes: routes.all, reason: .rejected, answer, attempts: 0, isLost: true)
        if lost > 0 { state.withLock { $0.noteLost(rejected: lost) } }
        news(self, .buried(count: batch.count, reason: .rejected, answer, lost: lost))
        return lost
    }
}
