// Informs the lanes whether the source is busy. While it is busy, a lane may let a small batch grow without waking its thread, since each
// block checks the batch. As soon as the source must wait for input or for space in a full lane, every lane's thread checks its batches.

internal import Delivery
internal import Platform

final class SourceActivity: Sendable {
    private struct State {
        var lanes: [Lane] = []
        /// The number of waiting threads: the reader waits for input, or a worker for space in a lane. At first the reader waits.
        var waiting = 1
    }
    private let state = Monitor(State())

    /// Informs these lanes from now on, and no others.
    func adopt(_ lanes: [Lane]) {
        state.withLock { state in
            for lane in state.lanes where !lanes.contains(where: { $0 === lane }) { lane.sourceIs(busy: false) }
            for lane in lanes { lane.sourceIs(busy: state.waiting == 0) }
            state.lanes = lanes
        }
    }

    func waitBegins() { change(by: 1) }
    func waitEnds() { change(by: -1) }

    /// Informs the lanes under the lock, so that the last state they get is the current one.
    private func change(by step: Int) {
        state.withLock { state in
            let wasBusy = state.waiting == 0
            state.waiting += step
            assert(state.waiting >= 0, "a wait ends that did not begin")
            let isBusy = state.waiting == 0
            if wasBusy != isBusy { for lane in state.lanes { lane.sourceIs(busy: isBusy) } }
        }
    }
}
