// Parcels, plans and a lane state whose clock the test controls.

import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Events
@testable import Queueing

/// Returns a parcel of these events, as the gate would fill it.
func parcel(_ events: [String], route: UInt16 = 0, immediate: Bool = false, level: UInt8 = EntryLevel.none, arrival: Int64 = 5)
    -> Parcel
{
    var parcel = Parcel()
    for event in events {
        parcel.bytes.append(event + "\n")
        parcel.subjectColumn.append(SubjectKey(high: UInt64(event.utf8.count), low: 7))
        parcel.entryColumn.append(
            Entry(
                end: UInt32(parcel.bytes.count), route: route, isImmediate: immediate, level: level, subjectCount: 1,
                firstSubject: UInt32(parcel.subjects.count - 1), messageIDOffset: 0, messageIDCount: 0, arrival: arrival))
    }
    return parcel
}

func texts(_ batch: Batch) -> [String] {
    (0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) }
}

func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

func plan(events: Int = 500, bytes: Int = 1_000_000, wait: Duration = .milliseconds(100), ordered: Bool = true) -> DeliveryPlan {
    var plan = DeliveryPlan()
    plan.batch.events = events
    plan.batch.bytes = bytes
    plan.batch.wait = wait
    plan.ordered = ordered
    plan.retry.first = .milliseconds(1000)
    plan.retry.most = .milliseconds(8000)
    plan.retry.total = .milliseconds(60_000)
    return plan
}

/// A lane state that describes its steps and effects as text, which is easy to compare with a table. It asks the second check as a lane
/// does.
final class StateFixture {
    var state: LaneState
    let check: SecondCheck?
    var log: [String] = []
    private(set) var tokens: [UInt64] = []
    /// True if the provider asks before events leave. Otherwise all events of a delivery have begun when it is handed over.
    let asks: Bool

    init(
        _ plan: DeliveryPlan = plan(), concurrency: Int = 1, routes: Int = 2, contents: SpoolContents? = nil, check: SecondCheck? = nil,
        asks: Bool = false
    ) {
        self.check = check
        self.asks = asks
        state = LaneState(
            plan, concurrency: concurrency, routes: routes, random: RandomSource(seed: 1), contents: contents,
            checksConsent: check != nil)
    }

    @discardableResult
    func take(_ events: [String], route: UInt16 = 0, immediate: Bool = false, arrival: Int64 = 5, at time: Int64) -> [String] {
        var parcel = parcel(events, route: route, immediate: immediate, arrival: arrival)
        return describe(state.take(&parcel, at: instant(time)))
    }

    /// Carries out an act of the state. Returns its effects.
    func perform(_ act: LaneState.Act, at time: Int64 = 0) -> [LaneState.Effect] {
        var answers = ConsentAnswers()
        while true {
            switch state.perform(act, answers, consentIs: check?.version, at: instant(time)) {
            case .done(let effects): return effects
            case .ask(let batches): ask(&answers, batches)
            }
        }
    }

    func ask(_ answers: inout ConsentAnswers, _ batches: [Batch]) {
        guard let check else {
            Issue.record("a state without a second check asks for consent")
            return
        }
        check.refresh()
        answers.ask(check, about: batches)
    }

    /// Returns the next step of the lane's thread that is no question.
    func next(at time: Int64) -> LaneState.Step {
        var answers = ConsentAnswers()
        while true {
            let step = state.next(at: instant(time), answers, consentIs: check?.version)
            guard case .ask(let batches) = step else { return step }
            ask(&answers, batches)
        }
    }

    /// Describes what is given up at its deadline.
    func expire(at time: Int64) -> [String] { describe(perform(.expire, at: time)) }
    /// The next deadline in milliseconds.
    var deadline: Int64? { state.nextDeadline.map { $0.nanoseconds / 1_000_000 } }

    /// Describes the next step: `deliver a b`, `wait`, `wait 100`, `flush`, `end`.
    func step(at time: Int64) -> String {
        switch next(at: time) {
        case .deliver(let token, let batch, let attempt):
            tokens.append(token)
            if !asks { #expect(mayBegin()) }
            return "deliver " + texts(batch).joined(separator: " ") + (attempt > 1 ? " attempt \(attempt)" : "")
        case .wait(let until): return until.map { "wait \($0.nanoseconds / 1_000_000)" } ?? "wait"
        case .bury(let effects): return describe(effects).joined()
        case .flush: return "flush"
        case .end: return "end"
        case .ask: return "ask"
        }
    }

    /// Asks whether these events of the last delivery, or of the delivery at `index`, may leave now. Nil stands for all events.
    func mayBegin(_ events: [UInt64]? = nil, index: Int? = nil) -> Bool {
        let token = tokens[index ?? tokens.count - 1]
        var answers = ConsentAnswers()
        while true {
            let reply = events.map { $0.withUnsafeBufferPointer { state.mayBegin(token, $0, answers, consentIs: check?.version) } }
            switch reply ?? state.mayBegin(token, nil, answers, consentIs: check?.version) {
            case .done(let isAllowed): return isAllowed
            case .ask(let batches): ask(&answers, batches)
            }
        }
    }

    /// Reports the outcome of the last delivery, or of the delivery at `index`, and describes the effects.
    func complete(_ outcome: BatchOutcome, index: Int? = nil, at time: Int64) -> [String] {
        let place = index ?? tokens.count - 1
        guard tokens.indices.contains(place) else {
            Issue.record("no delivery is in flight that could end")
            return []
        }
        return describe(perform(.completed(tokens[place], outcome), at: time))
    }

    /// Reports that the destination is gone while nothing is being delivered.
    func destinationGone(_ message: String) -> [String] { describe(perform(.destinationGone(Answer(message)))) }

    func describe(_ effects: [LaneState.Effect]) -> [String] {
        effects.map { effect in
            switch effect {
            case .bury(let burial): begin(burial)
            case .failing(let answer, _): "failing \(answer.message)"
            case .recovered(let attempts): "recovered \(attempts)"
            case .dropping: "dropping"
            case .opened(let failures): "opened \(failures)"
            case .acknowledge(let receipts): "acknowledge \(receipts.count)"
            case .storing(let fault, let act):
                "storing \(act == .reads || act == .sweeps ? "\(act) " : "")\(fault?.description ?? "again")"
            case .damaged(let loss): "damaged \(loss.words)"
            case .gone(let fault): "gone \(fault)"
            case .left(let count): "left \(count)"
            case .closed(let answer): "closed \(answer.message)"
            case .stopped(let answer): "stopped \(answer.message)"
            case .swept(let swept, _): describe(swept)
            }
        }
    }

    /// The number of destroyed events that the last sweep reported.
    private var sweptBefore = 0

    /// A sweep reports all that was destroyed so far. The description has what is new.
    private func describe(_ swept: Swept) -> String {
        let all = swept.destroyed.counts.values.reduce(0) { $0 + $1.events }
        defer { sweptBefore = all }
        return "swept \(all - sweptBefore)" + (swept.inFlight > 0 ? ", \(swept.inFlight) in flight" : "")
    }

    /// The burials that were demanded and are not carried out yet.
    private var burials: [Burial] = []

    private func begin(_ burial: Burial) -> String {
        burials.append(burial)
        return "bury \(texts(burial.batch).joined(separator: " ")) \(burial.reason.rawValue) \(burial.answer.message) \(burial.attempts)"
    }

    /// Reports that the oldest burial has been carried out.
    func buried(lost: Int = 0, at time: Int64 = 0) {
        let fault = lost == 0 ? nil : SpoolFault(.full, "no room for letters")
        guard !burials.isEmpty else {
            Issue.record("nothing is being buried")
            return
        }
        state.buried(burials.removeFirst(), lost: lost, fault, at: instant(time))
    }

    var laneAccount: LaneAccount { state.account }
    var heldBytes: Int { state.heldBytes }
    var isOver: Bool { state.isOver }
    var isBreakerOpen: Bool { state.health.isBreakerOpen }
    func mustWait(for bytes: Int) -> Bool { state.mustWait(for: bytes) }
    func needsAttention(at time: Int64) -> Bool { state.needsAttention(at: instant(time)) }
    func mustLook(at time: Int64) -> Bool { state.mustLook(at: instant(time)) }
    func hasSpace(for bytes: Int) -> Bool { state.hasSpace(for: bytes) }
    func giveUp(_ message: String) -> [String] { describe(perform(.giveUp(Answer(message)))) }

    /// Returns the account as one line.
    func account() -> String {
        let account = state.account
        let fates = LaneAccount.Fate.allCases.filter { account.total($0) > 0 }.map { "\(account.total($0)) \($0.rawValue)" }
        return (["\(account.totalTaken) taken"] + fates + ["\(account.totalWaiting) waiting"]).joined(separator: ", ")
    }
}
