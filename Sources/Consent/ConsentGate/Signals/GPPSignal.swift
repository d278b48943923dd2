// The signal `context.consent.gpp`: a string of IAB Tech Lab's Global Privacy Platform. By `map.gpp` its opt-outs refuse purposes. Its
// sections of TCF, Europe's and Canada's, are read by `map.tcf`, and its Global Privacy Control counts as that of the event. Without both
// maps it is not read. An empty string states nothing.

internal import Events
internal import Plans
internal import Signals

struct GPPSignal: ConsentSignal {
    static let members = [MemberDeclaration("context", "consent", "gpp", form: "a GPP string of version 1")]

    static let meaning: ConsentMeaningSchema? = ConsentMeaningSchema(
        "gpp", called: "purposes with opt-outs", "The opt-outs of a GPP string that refuse a purpose.",
        .words(optOuts.map(\.word), called: "opt-outs"))

    private static let optOuts: [(word: String, optOut: OptOuts)] = [
        ("sale", .sale), ("sharing", .sharing), ("targeted_advertising", .targetedAdvertising), ("sensitive_data", .sensitiveData),
    ]

    private struct Rule: BitwiseCopyable {
        /// The bit of the purpose.
        let purpose: Int
        /// Any of these opt-outs refuses the purpose.
        let optOuts: OptOuts
    }

    private let gpp: SignalMember
    private let rules: UnsafeBufferPointer<Rule>
    private let tcf: TCFSignal.TCFRules

    init(_ members: [SignalMember], _ map: ConsentMapCompiler) {
        gpp = members[0]
        rules = map.rules("gpp") { purpose, meaning in
            Rule(purpose: purpose, optOuts: OptOuts(GPPSignal.optOuts.filter { meaning.words.contains($0.word) }.map(\.optOut)))
        }
        tcf = TCFSignal.TCFRules(map)
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[gpp.slot]
        guard !rules.isEmpty || !tcf.isEmpty, slot.isPresent else { return }
        guard let text = reading.text(slot, in: event.block) else { return reading.breaks(gpp) }
        if text.count == 0 { return }
        guard let string = GPPString(text.bytes) else { return reading.breaks(gpp) }
        if string.hasBrokenCanada, !tcf.isEmpty { return reading.breaks(gpp) }
        if string.isGlobalControl { reading.turnOnPrivacyControl() }
        for rule in rules where !rule.optOuts.isDisjoint(with: string.optOuts) { reading.refuse(purpose: rule.purpose) }
        if let section = string.tcf { tcf.apply(section, &reading) }
        if let section = string.canada { tcf.apply(section, &reading) }
    }
}
