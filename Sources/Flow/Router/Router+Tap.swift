// Shows what the routes decide to those who look. For a block, the judge is told what they look for, and collects that; the captured events
// are given to the taps in the turn of the block, when its statements of consent hold. Without a tap nothing is done.

internal import Admission
internal import Events
internal import Generations
internal import Judging
internal import Plans
internal import Tapping
internal import Workers

extension Router {
    /// Tells the judge of the worker what the taps look for in the next block.
    func watch(_ worker: inout Worker, _ generation: Generation) {
        let looking = taps.lookingAtRoutes
        worker.watchers = looking.map(\.tap)
        worker.judge.watch(
            looking.map { one in
                Watch(
                    verdicts: one.request.stage.verdicts, routes: one.request.routes(of: generation.plan), mostEvents: one.room.events,
                    mostBytes: one.room.bytes)
            })
    }

    /// Gives the taps what was collected of a block. It runs in the worker's turn.
    func show(_ worker: borrowing Worker, _ generation: Generation) {
        let plan = TapPlan(generation.plan)
        let source = worker.block.source
        let events = worker.judge.watchedEvents
        let dropped = worker.judge.unwatchedEvents
        assert(dropped.count == worker.watchers.count, "a watch of the block has no tap")
        for (index, tap) in worker.watchers.enumerated() {
            let seen = events.filter { $0.watches.contains(index) }.map { event in
                TappedEvent(
                    line: event.line, arrival: event.arrival, subjects: event.subjects,
                    origin: .routes(plan, columns: event.columns, source: source))
            }
            taps.add(seen, dropped: dropped[index], to: tap)
        }
    }
}

extension TapStage {
    /// The verdicts of the stage, with a bit for each of `Tally.columns`.
    var verdicts: UInt32 {
        Tally.columns.enumerated().reduce(0) { bits, column in isMet(by: column.element) ? bits | 1 << UInt32(column.offset) : bits }
    }

    private func isMet(by verdict: Verdict) -> Bool {
        switch (self, verdict) {
        case (.in, _), (.denied, .denied), (.filtered, .filtered), (.sampled, .sampledOut), (.sampled, .limited), (.held, .held): true
        default: false
        }
    }
}
