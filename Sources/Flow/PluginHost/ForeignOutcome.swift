// Reads the outcome that a module reports and trusts nothing in it. An outcome that makes no sense counts as unknown, so that the
// events are sent again with the same ids. Every index in the result is within the batch.

internal import CSwitchyardPlugin
internal import Delivery
internal import Document
internal import Queueing

struct ForeignOutcome {
    /// The name of the module in messages.
    let module: String
    /// The texts that no answer may show.
    let hidden: HiddenTexts

    private static let batchMessage = 4096
    /// The limit for the message of one event. It is smaller, since there may be one message for each event.
    private static let eventMessage = 512

    /// Reads the arguments of `complete` for a delivery of `total` events. A flush has no events. `wasRefused` is true if the module was not
    /// allowed to send some of them.
    func read(
        _ batch: UnsafePointer<switchyard_outcome>?, events: UnsafePointer<switchyard_event_outcome>?, count: Int, of total: Int,
        wasRefused: Bool = false
    ) -> BatchOutcome {
        let outcome = readAll(batch, events: events, count: count, of: total)
        return wasRefused ? outcome : outcome.withoutUntried(of: "the module \(module)")
    }

    private func readAll(
        _ batch: UnsafePointer<switchyard_outcome>?, events: UnsafePointer<switchyard_event_outcome>?, count: Int, of total: Int
    ) -> BatchOutcome {
        guard let batch else { return senseless("ended a delivery without an outcome") }
        let whole = read(batch.pointee, most: Self.batchMessage)
        guard count != 0 else { return BatchOutcome(whole) }
        // If the list names a wrong event, nothing in it is trusted: another event may be the refused one.
        guard (1...max(1, total)).contains(count), total > 0 else {
            return senseless("named \(UInt(bitPattern: count)) single events of a batch of \(total)")
        }
        guard let events else { return senseless("named \(count) single events, but gave no list of them") }
        var single: [Int: Outcome] = [:]
        single.reserveCapacity(count)
        for event in UnsafeBufferPointer(start: events, count: count) {
            guard event.index < UInt64(total) else {
                return senseless("named the event \(event.index) of a batch of \(total)")
            }
            guard single.updateValue(readSingle(event.outcome), forKey: Int(event.index)) == nil else {
                return senseless("named the event \(event.index) of a batch twice")
            }
        }
        assert(single.count == count && single.keys.allSatisfy { (0..<total).contains($0) }, "an outcome is lost, or is of no event")
        return BatchOutcome(whole, events: single)
    }

    /// Reads the arguments with which a module ends an erasure of `total` subjects.
    func read(
        erasure outcome: UnsafePointer<switchyard_outcome>?, subjects: UnsafePointer<switchyard_event_outcome>?, count: Int, of total: Int,
        state: switchyard_bytes
    ) -> ErasureAnswer {
        guard outcome != nil else { return ErasureAnswer(unknown("ended an erasure without an outcome")) }
        // What else the module says may depend on the state, so nothing of such an answer is trusted.
        guard (0...ErasureRequest.mostState).contains(state.size), state.size == 0 || state.data != nil else {
            let size = UInt(bitPattern: state.size)
            return ErasureAnswer(unknown("gave a state of \(size) bytes for an erasure; at most \(ErasureRequest.mostState) are kept"))
        }
        let bytes = Array(UnsafeBufferPointer(start: state.data, count: state.size))
        return ErasureAnswer(read(outcome, events: subjects, count: count, of: total), state: bytes)
    }

    private func readSingle(_ outcome: switchyard_outcome) -> Outcome {
        if case .closed = read(outcome, most: 0) { return unknown("called the destination closed for a single event") }
        return read(outcome, most: Self.eventMessage)
    }

    private func read(_ outcome: switchyard_outcome, most: Int) -> Outcome {
        let answer = Answer(code: Int(outcome.code), ForeignText.read(outcome.message, most: most, hiding: hidden))
        switch outcome.kind {
        case SWITCHYARD_DELIVERED.rawValue: return .delivered
        case SWITCHYARD_REJECTED.rawValue: return .rejected(answer)
        case SWITCHYARD_RETRY.rawValue:
            return .retry(answer, after: outcome.retry_after_ms == 0 ? nil : .milliseconds(outcome.retry_after_ms))
        case SWITCHYARD_UNKNOWN.rawValue: return .unknown(answer)
        case SWITCHYARD_FAULT.rawValue: return .fault(answer)
        case SWITCHYARD_CLOSED.rawValue: return .closed(answer)
        case SWITCHYARD_UNTRIED.rawValue: return .untried
        default: return unknown("reported an outcome of the unknown kind \(outcome.kind)")
        }
    }

    private func senseless(_ what: String) -> BatchOutcome { BatchOutcome(unknown(what)) }
    private func unknown(_ what: String) -> Outcome { .unknown(Answer("the module \(module) \(what)")) }
}

extension BatchOutcome {
    /// Untried events are handed over again at once. A module that calls events untried without a reason would so get them without a pause.
    func withoutUntried(of module: String) -> BatchOutcome {
        func outcome(_ outcome: Outcome) -> Outcome {
            outcome == .untried ? .retry(Answer("\(module) did not send events that it was allowed to send"), after: nil) : outcome
        }
        return BatchOutcome(outcome(batch), events: events.mapValues(outcome))
    }
}
