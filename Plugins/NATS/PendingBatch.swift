// A delivery whose events wait for their acknowledgements. It is finished once: when every event has an outcome, and the thread that
// publishes has let go of it. Everything except `finish` and `mayBegin` is called under the lock of the publisher.

internal import PluginKit
internal import StreamKit

final class PendingBatch: @unchecked Sendable {
    /// The number of the delivery, which the replies of its messages name.
    let number: UInt64
    let lines: Lines
    /// When the wait for acknowledgements ends.
    let until: Instant
    private var delivery: Delivery?
    private(set) var outcomes: EventOutcomes
    /// The number of events from the first on that were given to the connection, or that have an outcome without that.
    var handed = 0
    /// True while a thread reads the events.
    var isPublishing = false

    init(_ delivery: consuming Delivery, number: UInt64, until: Instant) {
        self.number = number
        self.until = until
        lines = delivery.batch.lines
        outcomes = EventOutcomes(count: delivery.batch.count)
        self.delivery = consume delivery
    }

    /// True if nothing keeps the delivery from being finished.
    var isDone: Bool { outcomes.open == 0 && !isPublishing }

    func settle(_ event: Int, _ outcome: Outcome) { outcomes.settle(event, outcome) }

    /// Ends the wait: what was handed over may have arrived, and the rest has not left.
    func giveUp(_ words: String) {
        for event in 0..<handed { outcomes.settle(event, .unknown(words)) }
        outcomes.settleRest(.retry(words))
    }

    func settleRest(_ outcome: Outcome) { outcomes.settleRest(outcome) }

    /// Returns true if these events may leave now.
    func mayBegin(_ events: Range<Int>) -> Bool {
        switch delivery {
        case .some(let delivery): events.count == lines.count ? delivery.batch.mayBegin() : delivery.batch.mayBegin(events)
        case nil: false
        }
    }

    /// Answers the delivery. Only the caller that has taken it from the publisher's list calls this.
    func finish() {
        assert(isDone, "a delivery is finished while an event has no outcome")
        delivery.take()?.finish(outcomes.outcome)
    }
}
