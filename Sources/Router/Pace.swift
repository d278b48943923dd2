// Tells the lanes whether the source is busy. While it is, they let small batches gather, since it looks in at every block;
// as soon as it has to wait, for input or for room in a full lane, every lane sees to its batches by itself.

internal import Delivery
internal import Platform

final class Pace: Sendable {
    private let lanes: [Lane]
    /// How many wait at the moment: the reader for input, a worker for room. At first the reader does.
    private let waiting = Monitor(1)

    init(_ lanes: [Lane]) { self.lanes = lanes }

    func waitBegins() { change(by: 1) }
    func waitEnds() { change(by: -1) }

    /// The lanes are told under the lock, so that the last word they hear is the true one.
    private func change(by step: Int) {
        waiting.withLock { waiting in
            let wasBusy = waiting == 0
            waiting += step
            let isBusy = waiting == 0
            if wasBusy != isBusy { for lane in lanes { lane.sourceIs(busy: isBusy) } }
        }
    }
}
