// How events that are given up become dead letters. What cannot be kept is lost, counted and told; or, with `dead_letters: block`, the lane
// holds: nothing is handed over until it could be kept, which is tried again and again. What is held so is waiting: it has no fate yet, it
// stays on disk where it was there, and it is not handed over again. Pure, like the rest of the state.

internal import Admission
internal import Plans
internal import Platform
internal import Spool

/// Events that were given up, on their way to the dead-letter file.
struct Burial {
    var waiting: LaneState.Waiting
    let reason: LaneAccount.Fate
    let answer: Answer
    /// They have their fate already, so that what cannot be kept is lost. Otherwise they get it when they are kept.
    var isSettled: Bool

    var batch: Batch { waiting.batch }
    var attempts: Int { waiting.attempts }
    var share: Backlog.Share? { waiting.share }
}

extension LaneState {
    /// A lane that has ended or was stopped hands nothing over, so there is nothing that it could hold.
    private var holdsLetters: Bool { plan.deadLetters == .block && (phase == .open || phase == .draining) }

    mutating func bury(_ waiting: Waiting, _ fate: LaneAccount.Fate, _ answer: Answer, _ effects: inout [Effect]) {
        bury(Burial(waiting: waiting, reason: fate, answer: answer, isSettled: false), &effects)
    }

    private mutating func bury(_ burial: Burial, _ effects: inout [Effect]) {
        var burial = burial
        if !holdsLetters {
            settle(burial.batch, burial.reason)
            burial.isSettled = true
        }
        unburied += 1
        if !burial.isSettled { unsettled += 1 }
        effects.append(.bury(burial))
    }

    /// A burial has been carried out; `lost` events could not be kept, because of the fault. Only what is kept may leave the disk.
    mutating func buried(_ burial: Burial, lost: Int, _ fault: SpoolFault? = nil, at now: Instant) {
        unburied -= 1
        if !burial.isSettled { unsettled -= 1 }
        if burial.isSettled {
            account.lost += lost
            if let share = burial.share, lost == 0 { backlog.release(share) }
        } else if lost == 0 {
            settle(burial.waiting, burial.reason)
            (letterFault, lettersAgain, letterFailures) = (nil, nil, 0)
        } else if phase == .open || phase == .draining {
            letterFailures += 1
            letterFault = fault
            lettersAgain = now + backoff.wait(after: min(letterFailures, 6), &random)
            letters.append(burial)
        } else if isDurable, burial.share != nil || canStore {
            // The lane has ended meanwhile.
            keep(burial.waiting)
        } else {
            settle(burial.batch, burial.reason)
            account.lost += lost
        }
    }

    /// What could not be kept so far, once more.
    mutating func buryAgain() -> [Effect] {
        var effects: [Effect] = []
        for burial in letters.removeAll() { bury(burial, &effects) }
        return effects
    }

    /// The same when the lane has ended, in memory alone: for the last time.
    mutating func buryLast() -> [Effect] {
        var effects: [Effect] = []
        for burial in letters.removeAll() {
            guard let rest = rest(of: burial.waiting) else { continue }
            bury(Burial(waiting: rest, reason: burial.reason, answer: burial.answer, isSettled: false), &effects)
        }
        return effects
    }
}
