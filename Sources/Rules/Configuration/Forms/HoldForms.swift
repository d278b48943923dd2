// The form of `consent.hold`: how many events may wait for consent, and for how long.

internal import Document
internal import FormReading
internal import Plans

enum HoldForms {
    /// Reports a plan that holds events without a ledger. No consent could ever arrive, so every held event would expire.
    static func check(_ plan: ConsentPlan, node: Node, reading: Reading) {
        guard plan.isHolding, node["ledger"] == nil, let place = node["unknown"] else { return }
        reading.fault(place, "holds events until their subjects consent, which only a ledger records, expected 'ledger' in 'consent'")
    }

    private static let year = 366 * 86_400_000

    static let bounds = Form<HoldPlan>.object(
        HoldPlan(),
        [
            Member("for", Forms.time(1...year), "How long an event waits before it is destroyed; 24h when left out.", into: \.time),
            Member("events", events, "The most events that wait; 100000 when left out.", into: \.total.events),
            Member("bytes", bytes, "The most bytes of events that wait; 100MB when left out.", into: \.total.bytes),
            Member("subject", ofSubject, "The most that waits of one subject.", into: \.subject),
        ])

    private static let ofSubject = Form<HoldPlan.Bounds>.object(
        HoldPlan().subject,
        [
            Member("events", events, "The most events of one subject; 1000 when left out.", into: \.events),
            Member("bytes", bytes, "The most bytes of one subject's events; 1MB when left out.", into: \.bytes),
        ])

    private static let events = Forms.integer(1...1_000_000_000)
    private static let bytes = Forms.size(1...(1 << 50))
}
