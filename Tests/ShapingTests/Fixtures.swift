// Batches, shapes and providers for the tests of the hand-over.

import Admission
import Delivery
import Events
import Expressions
import Judging
import Plans
import Platform
import Queueing

@testable import Models

/// The time of arrival of the first event of a batch; each next one comes a nanosecond later.
let arrival: Int64 = 1_795_000_000_000_000_000

/// Makes a batch of lines without newlines. The event at index `i` came by route `i` and has `i % 3` subjects.
func batch(_ lines: [[UInt8]]) -> Batch {
    var parcel = Parcel()
    for (index, line) in lines.enumerated() {
        guard case .admitted(let admitted) = Admission.decide(Demand(), nil, state: { fatalError("nothing is demanded") }) else { continue }
        let place = parcel.place(forLineOf: line.count + 1)
        for (offset, byte) in (line + [0x0a]).enumerated() { place[offset] = byte }
        let subjects = (0..<index % 3).map { SubjectKey(high: UInt64(index), low: UInt64($0)) }
        subjects.withUnsafeBufferPointer { subjects in
            let note = Parcel.Note(route: UInt16(index), isImmediate: false, arrival: arrival + Int64(index), subjects: subjects)
            _ = parcel.append(admitted, note, lineOf: line.count + 1, messageID: Parcel.MessageIDPlace())
        }
    }
    return Batch(parcel)
}

func batch(_ lines: [String]) -> Batch { batch(lines.map { Array($0.utf8) }) }

func texts(_ batch: Batch?) -> [String] {
    guard let batch else { return [] }
    return (0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) }
}

/// Makes a shape. `bytes` limits a batch, and `largest` is the limit of the module.
func shape(bytes: Int = 1_000_000, largest: Int? = nil, keys: [Key] = [], _ change: (inout ShapePlan) -> Void) -> Shape {
    var provider = ProviderPlan(name: "out", plugin: "test", settings: Secret([]))
    provider.delivery.batch.bytes = bytes
    provider.delivery.batch.largest = largest
    change(&provider.shape)
    var plan = Plan()
    plan.keys = keys
    plan.providers = [provider]
    return Shape(provider, of: plan)!
}

func condition(_ text: String) -> Expression { try! Expression.condition(text) }

/// A provider that notes what it gets, and answers when the test says so.
final class ScriptedProvider: Provider {
    struct State {
        var batches: [[String]] = []
        var calls: [String] = []
        var done: [@Sendable (BatchOutcome) -> Void] = []
        weak var last: Batch?
    }
    let state = Monitor(State())

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let lines = texts(batch)
        state.withLock { state in
            state.batches.append(lines)
            state.done.append(done)
            state.last = batch
        }
    }
    /// Ends the oldest delivery.
    func answer(_ outcome: BatchOutcome) { state.withLock { $0.done.removeFirst() }(outcome) }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) {
        state.withLock { $0.calls.append("flush") }
        done(.delivered)
    }
    func reopen() { state.withLock { $0.calls.append("reopen") } }
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { state.withLock { $0.calls.append("onClosed") } }
    func close() { state.withLock { $0.calls.append("close") } }
    var batches: [[String]] { state.withLock { $0.batches } }
    var calls: [String] { state.withLock { $0.calls } }
}

/// The outcomes of the deliveries of one batch.
final class Outcomes: Sendable {
    private let all = Monitor<[BatchOutcome]>([])
    var list: [BatchOutcome] { all.withLock { $0 } }
    func take(_ outcome: BatchOutcome) { all.withLock { $0.append(outcome) } }
}
