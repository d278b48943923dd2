// Tells the lanes whether the source is busy. While it is, they let small batches gather, since it looks in at every block;
// as soon as it has to wait, for input or for room in a full lane, every lane sees to its batches by itself.

internal import Delivery
internal import Platform

final class SourceActivity: Sendable {
    private struct State {
        var lanes: [Lane] = []
        /// How many wait at the moment: the reader for input, a worker for room. At first the reader does.
        var waiting = 1
    }
    private let state = Monitor(State())

    /// From now on these are told.
    func adopt(_ lanes: [Lane]) {
        state.withLock { state in
            for lane in state.lanes where !lanes.contains(where: { $0 === lane }) { lane.sourceIs(busy: false) }
            for lane in lanes { lane.sourceIs(busy: state.waiting == 0) }
            state.lanes = lanes
        }
    }

    func waitBegins() { change(by: 1) }
    func waitEnds() { change(by: -1) }

    /// The lanes are told under the lock, so that the last word they hear is the true one.
    private func change(by step: Int) {
        state.withLock { state in
            let wasBusy = state.waiting == 0
            state.waiting += step
            let isBusy = state.waiting == 0
            if wasBusy != isBusy { for lane in state.lanes { lane.sourceIs(busy: isBusy) } }
        }
    }
}
