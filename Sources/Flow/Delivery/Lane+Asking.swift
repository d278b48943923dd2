// How a lane changes its state, and how it asks the second check about consent. The second check takes locks of its own, reads the clock
// and may write a message. So the lane asks it while it does not hold its own lock, and hands the answers to the state as a value.
//
// Between asking and entering the state, a withdrawal can come. Its thread W does three things in this order: it changes the records and
// the bans, which raises the version of consent; it takes the lock of every lane, to count the refused events in flight; it acknowledges
// the withdrawal. The lane's thread L also does three things: it reads the version, it asks, and it takes the lock of the lane, where it
// compares the version that it read with the present one and hands over only if both are equal. There are two orders of W and L at the
// lock:
//
//   L first: the batch is in flight when W takes the lock. W counts it, and the receipt names it.
//   W first: the version rose before W took the lock, so L sees the new version when it has the lock. If L had read the older version, its
//            answer is stale and it asks again. If L had read the new version, it asked after the change and the answer knows of it.
//
// So no answer that is older than an acknowledged withdrawal is ever used. That does not depend on W's visit alone: a lane that W does not
// know yet compares the version too.
//
// Each consent statement of the stream raises the version. So that many statements cannot keep a large batch from its hand-over forever, a
// thread that got a stale answer several times asks once more while it holds the lock. W then waits for the lock: either the answer knows
// of the withdrawal, or W counts the batch as in flight. Such a check never refreshes, so it writes no message.

internal import Admission
internal import ConsentGate
internal import Platform
internal import Queueing

extension Lane {
    /// The number of times that a thread asks without the lock, for one act or one batch.
    static let mostAsks = 4

    /// Runs the body, which decides by the answers for the version of consent that it gets. The body may run several times; only its last
    /// run is `done`.
    func decide<R>(_ body: (inout LaneState, ConsentAnswers, SecondCheck.Version?) -> LaneState.Reply<R>) -> R {
        var answers = ConsentAnswers()
        for _ in 0..<Lane.mostAsks {
            let reply = state.withLock { body(&$0, answers, check?.version) }
            switch reply {
            case .done(let result): return result
            case .ask(let batches):
                guard let check else { preconditionFailure("the state of a lane without a ledger asked for consent") }
                check.refresh()
                answers.ask(check, about: batches)
            }
        }
        return state.withLock { state in
            answers.removeAll()
            while true {
                switch body(&state, answers, answers.version) {
                case .done(let result): return result
                case .ask(let batches): if let check { answers.ask(check, about: batches) }
                }
            }
        }
    }

    /// Carries out an act of the state. Returns the effects that the caller must carry out next. Until then the lane is not over.
    func perform(_ act: LaneState.Act, at time: Instant? = nil) -> [LaneState.Effect] {
        decide { state, answers, version in
            let reply = state.perform(act, answers, consentIs: version, at: time ?? clock.now())
            if case .done(let effects) = reply, !effects.isEmpty { state.carryingOut += 1 }
            return reply
        }
    }

    /// Changes the state in a way that needs no consent. Returns the effects that the caller must carry out next. Until then the lane is
    /// not over.
    func change(_ body: (inout LaneState) -> [LaneState.Effect]) -> [LaneState.Effect] {
        state.withLock { state in
            let effects = body(&state)
            state.carryingOut += effects.isEmpty ? 0 : 1
            return effects
        }
    }
}

extension ConsentAnswers {
    /// Asks the check about these batches. Answers of an older version are forgotten.
    mutating func ask(_ check: SecondCheck, about batches: [Batch]) {
        // The version is read first. A change that comes during the check then has a later version, and the answers count as stale.
        begin(at: check.version)
        for batch in batches { note(check.answer(batch), of: batch) }
    }
}
