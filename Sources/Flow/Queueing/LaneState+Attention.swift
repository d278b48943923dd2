// Decides whether a lane's thread must be woken. To wake a thread for nothing costs more than to take an event, so a thread is woken only if it
// waits and would find something to do, or would wait too long. This file is a part of the pure lane state.

internal import Plans
public import Platform

extension LaneState {
    /// Whether the lane's thread works or waits. A thread that works looks again before it waits, so nobody has to wake it.
    enum Rest {
        case awake
        case asleep(until: Instant?)
    }

    /// Who has to do something for the events that came in.
    public enum Attention {
        case none
        /// The source looks again at its next block, or when it waits for input.
        case later
        /// The lane's thread must be woken.
        case now
    }

    /// Returns whether the lane's thread must be woken because of what came in. It is not, if it works, or if it will wake in time.
    public func attention(at now: Instant) -> Attention {
        guard mustLook(at: now) else { return .none }
        return isSourceBusy && queuedBytes < worthWaking && !isOld(at: now) ? .later : .now
    }

    /// Returns true if the lane's thread must be woken now and not at the next look of the source.
    public func needsAttention(at now: Instant) -> Bool { attention(at: now) == .now }

    /// Returns true if the lane's thread waits and has something to do, or must wake earlier than it will.
    public func mustLook(at now: Instant) -> Bool {
        guard case .asleep(let time) = rest else { return false }
        // An ending, and dead letters that cannot be kept, are rare, and much may depend on the look.
        guard phase == .open, letters.held.isEmpty, ending.closingAnswer == nil else { return true }
        if firstReady(at: now) != nil { return true }
        guard let next = nextInstant() else { return false }
        return next <= now || time.map { next < $0 } ?? true
    }

    /// True if events wait for the store, or if the store must drop some.
    public var hasStoreWork: Bool { isDurable && (backlog.hasWork || toDrop > 0) }

    /// Returns true if the open batch must not wait for the next block of a busy source.
    private func isOld(at now: Instant) -> Bool {
        assembly.due(isAlone: false, otherwise: LaneState.pace).map { $0 <= now } ?? false
    }

    /// How long small batches gather while a source is busy.
    private static let pace = Duration.milliseconds(10)
    private var worthWaking: Int { min(1 << 20, plan.queue.memory / 4) }
}
