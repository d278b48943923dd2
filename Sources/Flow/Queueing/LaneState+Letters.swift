// Turns events that are given up into dead letters. Events that cannot be kept are lost, counted and reported. With `dead_letters: block`
// the lane holds them instead: it hands nothing over until they are kept, and it tries again and again. These letters have no fate yet,
// stay on disk if they were stored, and are never handed over again. This file is a part of the pure lane state.

internal import Admission
internal import Plans
public import Platform
public import Spool

extension LaneState {
    /// True if letters that cannot be kept stop the lane. A lane that has ended or was stopped hands nothing over, so it holds no letters.
    private var holdsLetters: Bool { plan.deadLetters == .block && isRunning }

    mutating func bury(_ waiting: WaitingBatch, fate: LaneAccount.Fate, answer: Answer, effects: inout [Effect]) {
        bury(Burial(waiting: waiting, reason: fate, answer: answer, isSettled: false), &effects)
    }

    private mutating func bury(_ burial: Burial, _ effects: inout [Effect]) {
        var burial = burial
        if !holdsLetters {
            settle(burial.batch, burial.reason)
            burial.isSettled = true
        }
        letters.begin(burial)
        effects.append(.bury(burial))
    }

    /// Records that a burial was carried out. Because of the fault, `lost` events could not be kept. Only events that were kept may leave
    /// the disk.
    public mutating func buried(_ burial: Burial, lost: Int, _ fault: SpoolFault? = nil, at now: Instant) {
        letters.end(burial)
        if burial.isSettled {
            account.lost += lost
            if lost > 0 { burial.batch.noteLoss() }
            if let share = burial.share, lost == 0 { backlog.release(share) }
        } else if lost == 0 {
            settle(burial.waiting, burial.reason)
            letters.noteSuccess()
        } else if isRunning {
            let backoff = backoff
            letters.hold(burial, fault, at: now, backoff, &random)
        } else if isDurable, burial.share != nil || storeHealth.canStore {
            // The lane has ended since the burial began.
            keep(burial.waiting)
        } else {
            settle(burial.batch, burial.reason)
            account.lost += lost
            burial.batch.noteLoss()
        }
    }

    /// Records that events which never came into the lane could not be kept as dead letters.
    public mutating func noteLost(rejected count: Int) { account.lost += count }

    /// Tries once more to bury the letters that could not be kept so far.
    mutating func buryAgain() -> [Effect] {
        var effects: [Effect] = []
        for burial in letters.takeHeld() { bury(burial, &effects) }
        return effects
    }

    /// Tries for the last time, after a lane in memory has ended.
    mutating func buryLast(_ answers: ConsentAnswers) -> [Effect] {
        var effects: [Effect] = []
        for burial in letters.takeHeld() {
            guard let rest = rest(of: burial.waiting, answers[burial.batch]) else { continue }
            bury(Burial(waiting: rest, reason: burial.reason, answer: burial.answer, isSettled: false), &effects)
        }
        return effects
    }
}
