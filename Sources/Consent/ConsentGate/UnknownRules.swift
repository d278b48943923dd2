// What is assumed of those of whom nothing is known: the same for every event, or by the text of one of its members.

internal import Events
internal import Plans

struct UnknownRules: BitwiseCopyable {
    /// A level; or `deny`, or `hold`.
    typealias Assumed = Int
    static let deny: Assumed = -1
    static let hold: Assumed = -2

    private struct Case: BitwiseCopyable {
        let text: ByteRun
        let assumed: Assumed
    }

    /// Of events that no case is for.
    private let otherwise: Assumed
    private let slot: Int
    private let cases: UnsafeBufferPointer<Case>

    init(_ plan: ConsentPlan, slot: Int, in store: Store) {
        otherwise = UnknownRules.assumed(plan.unknown)
        self.slot = slot
        cases = store.list(
            (plan.unknownBy?.cases ?? []).map { Case(text: store.text(Array($0.key.utf8)), assumed: UnknownRules.assumed($0.value)) })
    }

    /// The same for every event.
    init(always assumed: Assumed) {
        otherwise = assumed
        slot = 0
        cases = UnsafeBufferPointer(start: nil, count: 0)
    }

    private static func assumed(_ policy: ConsentPlan.Unknown) -> Assumed {
        switch policy {
        case .deny: deny
        case .assume(let level): level
        case .hold: hold
        }
    }

    /// Only a string is a value; an event without one is like any other.
    @inline(__always) func assumed(of event: ScannedEvent, _ decoder: inout Decoder) -> Assumed {
        cases.isEmpty ? otherwise : find(event, &decoder)
    }

    private func find(_ event: ScannedEvent, _ decoder: inout Decoder) -> Assumed {
        guard event.slots[slot].end != 0, let raw = event.slots[slot].string(in: event.block), let text = decoder.decode(raw) else {
            return otherwise
        }
        for known in cases where known.text == text { return known.assumed }
        return otherwise
    }
}
