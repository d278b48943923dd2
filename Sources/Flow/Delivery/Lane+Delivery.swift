// The thread of a lane that hands batches to the provider. It is the only thread that calls the provider's `deliver`, `flush` and `close`.

internal import Admission
internal import ConsentGate
internal import Platform
internal import Queueing

extension Lane {
    /// Delivers batches until the lane has ended.
    func deliverAll() {
        var answers = ConsentAnswers()
        while true {
            switch nextStep(&answers) {
            case .deliver(let token, let batch, let attempt):
                heartbeat.beat {
                    provider.deliver(batch, attempt: attempt) { [weak self] events in
                        self?.mayBegin(token, events) ?? false
                    } _: { [weak self] outcome in
                        guard let self else { return }
                        let masked = AnswerMask.masked(outcome, of: batch)
                        show(masked, of: batch)
                        carryOut(perform(.completed(token, masked)))
                    }
                }
            case .bury(let effects): carryOut(effects)
            case .flush:
                heartbeat.beat {
                    provider.flush { [weak self] outcome in
                        guard let self else { return }
                        carryOut(change { $0.flushed(outcome) })
                    }
                }
            case .end:
                endWatch()
                provider.close()
                state.withLock { $0.providerClosed() }
                wake()
                return
            case .wait, .ask: preconditionFailure("nextStep returned a wait or a question")
            }
        }
    }

    /// Answers the question of a provider whether events of a delivery may leave. `Lane+Asking.swift` tells why the answer cannot be too
    /// old.
    private func mayBegin(_ token: UInt64, _ events: UnsafeBufferPointer<UInt64>?) -> Bool {
        decide { $0.mayBegin(token, events, $1, consentIs: $2) }
    }

    /// Returns the next step that is no question and no wait. It asks the second check while it does not hold the lock; `Lane+Asking.swift`
    /// tells why the answers cannot be too old.
    private func nextStep(_ answers: inout ConsentAnswers) -> LaneState.Step {
        answers.removeAll()
        var asked: (batch: ObjectIdentifier?, times: Int) = (nil, 0)
        while true {
            let step = state.waitUntilReady(for: deliveryWork) { state -> Readiness<LaneState.Step> in
                var step = state.next(at: clock.now(), answers, consentIs: check?.version)
                while asked.times == Lane.mostAsks, case .ask(let batches) = step, let check {
                    answers.ask(check, about: batches)
                    step = state.next(at: clock.now(), answers, consentIs: answers.version)
                }
                if case .wait(let instant) = step { return .notBefore(instant) }
                if case .bury(let effects) = step, !effects.isEmpty { state.carryingOut += 1 }
                return .ready(step)
            }
            guard case .ask(let batches) = step, let check else { return step }
            let batch = batches.first.map(ObjectIdentifier.init)
            asked = (batch, batch == asked.batch ? asked.times + 1 : 1)
            check.refresh()
            answers.ask(check, about: batches)
        }
    }
}
