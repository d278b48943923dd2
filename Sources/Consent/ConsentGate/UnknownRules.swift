// The assumptions about unknown subjects: the same for every event, or chosen by the text of one member.

internal import Events
internal import Plans

struct UnknownRules: BitwiseCopyable {
    /// A level, `deny` or `hold`.
    typealias Assumed = Int
    static let deny: Assumed = -1
    static let hold: Assumed = -2

    private struct Case: BitwiseCopyable {
        let text: ByteRun
        let assumed: Assumed
    }

    /// The assumption for events that match no case.
    private let otherwise: Assumed
    private let slot: Int
    private let cases: UnsafeBufferPointer<Case>

    init(_ plan: ConsentPlan, slot: Int, in store: Store) {
        otherwise = UnknownRules.assumed(plan.unknown)
        self.slot = slot
        cases = store.list(
            (plan.unknownBy?.cases ?? []).map { Case(text: store.text(Array($0.key.utf8)), assumed: UnknownRules.assumed($0.value)) })
    }

    /// Makes rules that assume the same for every event.
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

    /// Returns what is assumed of the event's subjects. Only a string in the member can match a case.
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
