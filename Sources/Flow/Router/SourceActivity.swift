// Knows whether the sources are busy, and the lanes that have events which their threads were not woken for. While a source is busy, a small
// batch may grow, since each block looks at it. As soon as the sources wait for input or for space in a full lane, these lanes are woken, and
// no others.

internal import Delivery
internal import Platform

final class SourceActivity: Sendable {
    private struct State {
        /// The lanes with events that their threads do not know of.
        var unnoticed: [Lane] = []
        /// The number of waiting threads: the reader waits for input, or a worker for space in a lane. At first the reader waits.
        var waiting = 1
        var isBusy: Bool { waiting == 0 }
    }
    private let state = Monitor(State())

    /// True if nothing waits, so that another block comes soon.
    var isBusy: Bool { state.withLock { $0.isBusy } }

    func waitBegins() {
        state.withLock { state in
            state.waiting += 1
            guard state.waiting == 1 else { return }
            for lane in state.unnoticed { _ = lane.look(sourceIsBusy: false) }
            state.unnoticed.removeAll(keepingCapacity: true)
        }
    }

    func waitEnds() {
        state.withLock { state in
            state.waiting -= 1
            assert(state.waiting >= 0, "a wait ends that did not begin")
        }
    }

    /// Notes that a lane took events while the source was busy, and that its thread was not woken.
    func note(unnoticed lane: Lane) {
        state.withLock { state in
            // The source may have begun to wait since then.
            if !state.isBusy {
                _ = lane.look(sourceIsBusy: false)
            } else if !state.unnoticed.contains(where: { $0 === lane }) {
                state.unnoticed.append(lane)
            }
        }
    }

    /// Looks at the lanes whose threads do not know of their events, so that none gets too old while the source is busy. Call it after each
    /// block.
    func blockPassed() {
        state.withLock { state in
            if state.unnoticed.isEmpty { return }
            let isBusy = state.isBusy
            state.unnoticed.removeAll { $0.look(sourceIsBusy: isBusy) }
        }
    }
}
