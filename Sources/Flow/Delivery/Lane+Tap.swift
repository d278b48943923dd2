// Shows the events of a lane to those who look at it. Nothing is done unless somebody looks.

internal import Admission
internal import ConsentGate
internal import Queueing
internal import Tapping

extension Lane {
    /// Shows the events that the provider has confirmed or refused for good. A batch that is refused as a whole is halved and tried again, so
    /// only a refusal of a single event counts. Events that may not leave any more are not shown: the provider may not have got them.
    func show(_ outcome: BatchOutcome, of batch: Batch) {
        guard let taps, taps.looks(at: Lane.shownStages) else { return }
        let refused: Set<Int>
        switch check?.answer(batch) {
        case .pass?, nil: refused = []
        case .refused(let events)?: refused = Set(events)
        case .unreadable?: return
        }
        var sent: [Int] = []
        let names = routes.all
        for index in 0..<batch.count where !refused.contains(index) {
            let own = outcome.events[index]
            switch own ?? outcome.batch {
            case .delivered: sent.append(index)
            case .rejected(let answer) where own != nil || batch.count == 1:
                taps.add([index], of: batch, at: .rejected, provider: name, routes: names, answer: answer.answered)
            case .rejected, .filtered, .untried, .retry, .unknown, .fault, .closed: break
            }
        }
        taps.add(sent, of: batch, at: .sent, provider: name, routes: names)
    }

    private static let shownStages: [TapStage] = [.sent, .rejected]
}

extension Answer {
    /// The answer as a tap shows it, without what it repeats of the events.
    var answered: TappedEvent.Answered { TappedEvent.Answered(code: code, message: shown ?? message) }
}
