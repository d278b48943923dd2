// How much may wait for consent, and for how long: `consent.hold`.

internal import Document
internal import Plans

enum HoldForms {
    /// Nobody could ever be asked for consent, and what is held would only wait for its end.
    static func check(_ plan: ConsentPlan, _ node: Node, _ reading: Reading) {
        guard plan.isHolding, node["ledger"] == nil, let place = node["unknown"] else { return }
        reading.fault(place, "holds events until their subjects consent, which a ledger must tell: expected 'ledger' beside it")
    }

    private static let year = 366 * 86_400_000

    static let bounds = Form<HoldPlan>.object(
        HoldPlan(),
        [
            Member("for", Forms.time(1...year), "How long an event waits, and is destroyed then; 24h when left out.", into: \.time),
            Member("events", events, "The most events that wait; 100000 when left out.", into: \.total.events),
            Member("bytes", bytes, "The most bytes of events that wait; 100MB when left out.", into: \.total.bytes),
            Member("subject", ofSubject, "The most of one subject.", into: \.subject),
        ])

    private static let ofSubject = Form<HoldPlan.Bounds>.object(
        HoldPlan().subject,
        [
            Member("events", events, "The most events; 1000 when left out.", into: \.events),
            Member("bytes", bytes, "The most bytes; 1MB when left out.", into: \.bytes),
        ])

    private static let events = Forms.integer(1...1_000_000_000)
    private static let bytes = Forms.size(1...(1 << 50))
}
