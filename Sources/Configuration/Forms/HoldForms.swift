// What becomes of events of whose subjects nothing is known: `consent.unknown`, and how much may wait for an answer.

enum HoldForms {
    /// What `unknown` says, with the bounds that stand beside it.
    struct Draft: Sendable {
        var unknown = ConsentPlan.Unknown.deny
        var hold: HoldPlan?
    }

    static let unknown = Form<Draft>(
        SchemaParts.anyOf([SchemaParts.choice(["deny", "hold"]), assumption.schema, holding.schema])
    ) { node, reading in
        if let text = node.text {
            if text.isBroken { return nil }
            if text.value == "deny" { return Draft() }
            if text.value == "hold" { return Draft(unknown: .hold) }
        }
        if node.entries != nil { return node["hold"] == nil ? assumption.read(node, reading) : holding.read(node, reading) }
        reading.refuse(node, "\"deny\", \"hold\", {\"assume\": level} or {\"hold\": bounds}")
        return nil
    }

    /// Nobody could ever be asked for consent, and what is held would only wait for its end.
    static func check(_ plan: ConsentPlan, _ node: Node, _ reading: Reading) {
        guard plan.unknown == .hold, node["ledger"] == nil, let place = node["unknown"] else { return }
        reading.fault(place, "holds events until their subjects consent, which a ledger must tell: expected 'ledger' beside it")
    }

    private struct Assumption: Sendable { var level = 0 }

    private static let assumption = Form<Assumption>.object(
        Assumption(), [Member("assume", ConsentForms.level, required: true, "The level to assume.", into: \.level)]
    ).then { assumption, _, _ in Draft(unknown: .assume(assumption.level)) }

    private static let holding = Form<Draft>.object(
        Draft(unknown: .hold), [Member("hold", bounds, required: true, "How much may wait for consent, and how long.", into: \.hold)])

    // MARK: - Bounds

    private static let year = 366 * 86_400_000

    private static let bounds = Form<HoldPlan>.object(
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

extension ConsentPlan {
    /// As one value, since one key says both.
    var ofUnknown: HoldForms.Draft {
        get { HoldForms.Draft(unknown: unknown, hold: hold) }
        set {
            unknown = newValue.unknown
            hold = newValue.hold ?? HoldPlan()
        }
    }
}
