// Answers the blocks whose sources wait until every event has come to its end. The end of a block is noticed by whoever drops the last of
// its events, often under the lock of a lane; so a thread of its own stores the ids, gives the answers and does nothing else. The thread
// begins with the first such block.
//
// It promises that a block is answered once. It is never answered as stored before all of its events have come to their end, and neither
// before the end of an earlier block that may have the originals of its duplicates: their source knows both by the same id, and would
// forget an original that is still on its way.

internal import Admission
internal import Ingest
internal import Judging
internal import Platform

final class BlockEnds: Sendable {
    /// What is to be done at the end of a block.
    struct Block: Sendable {
        /// The message ids that came for the first time.
        var sightings: [SeenIDs.Sighting]
        /// True if events were left out because their ids had come before.
        var hasDuplicates: Bool
        /// True if an original of its duplicates may have been lost by now.
        var mayLackOriginals = false
        /// Answers its submissions.
        var answer: @Sendable (_ isLost: Bool) -> Void
    }

    private struct State {
        var order = BlockOrder()
        var ended: [(turn: Int, block: Block, isLost: Bool)] = []
        var isRunning = false
        var isClosed = false
        var isOver = false
    }

    private let state = Monitor(State())
    private let keep: @Sendable ([SeenIDs.Sighting]) -> Void
    private let forget: @Sendable ([SeenIDs.Sighting]) -> Void

    /// `keep` stores the ids of a block whose events have come to their end. `forget` makes the ids of a block count as not seen, because
    /// events of it were lost.
    init(
        keep: @escaping @Sendable ([SeenIDs.Sighting]) -> Void, forget: @escaping @Sendable ([SeenIDs.Sighting]) -> Void
    ) {
        self.keep = keep
        self.forget = forget
    }

    /// Registers the next block. Returns the mark that its events carry. Call it in the worker's turn.
    func enter(_ make: () -> Block) -> EndMark {
        let (turn, begins) = state.withLock { state in
            defer { state.isRunning = true }
            return (state.order.enter(), !state.isRunning)
        }
        if begins { Thread.start("ends") { self.run() }.detach() }
        // The block is made after it has its place in the order: what it learns of lost originals is then not too old.
        let block = make()
        return EndMark { [self] isLost in
            state.withLock { $0.ended.append((turn, block, isLost)) }
            state.wake()
        }
    }

    /// Waits until every block that has ended is answered, but not longer than the deadline.
    func close(by deadline: Instant, _ clock: Clock) {
        state.withLock { $0.isClosed = true }
        state.wake()
        state.waitUntilReady { state -> Readiness<Void> in
            !state.isRunning || state.isOver || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    private func run() {
        while let ended = next() {
            for (turn, block, isLost) in ended {
                if isLost { forget(block.sightings) } else { keep(block.sightings) }
                let due = state.withLock { state in
                    state.order.end(
                        turn, isLost: isLost, waits: block.hasDuplicates && !isLost,
                        answer: { lacksOriginals in block.answer(isLost || block.mayLackOriginals || lacksOriginals) })
                }
                for give in due { give() }
            }
        }
        state.withLock { $0.isOver = true }
        state.wake()
    }

    private func next() -> [(turn: Int, block: Block, isLost: Bool)]? {
        state.waitUntilReady { state -> Readiness<[(turn: Int, block: Block, isLost: Bool)]?> in
            guard state.ended.isEmpty else {
                defer { state.ended = [] }
                return .ready(state.ended)
            }
            return state.isClosed ? .ready(nil) : .notBefore(nil)
        }
    }
}
