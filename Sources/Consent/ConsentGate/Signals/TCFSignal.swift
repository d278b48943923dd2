// The signal `context.consent.tcf`: a string of IAB Europe's Transparency and Consent Framework. By `map.tcf` it grants or denies the
// purposes of the map, and states nothing about others. Without `map.tcf` it is not read. An empty string states nothing.

internal import Events
internal import Plans
internal import Signals

struct TCFSignal: ConsentSignal {
    static let members = [MemberDeclaration("context", "consent", "tcf", form: "a TC string of version 2")]

    static let meaning: ConsentMeaningSchema? = ConsentMeaningSchema(
        "tcf", called: "purposes with those of TCF", "What a TC string must allow for a purpose.",
        .settings([
            .init(
                "purposes", .numbers(TCString.purposes, called: "purposes of TCF"), required: true,
                "The purposes of TCF that must all be allowed."),
            .init(
                "vendor", .number(TCString.vendors),
                "The vendor that must be allowed too, by its id in the Global Vendor List; no vendor is checked when left out."),
            .init(
                "basis", .words(bases.map(\.word), called: "bases"),
                "The legal bases, any one of which is enough; [\"consent\"] when left out."),
        ]))

    private static let bases: [(word: String, basis: TCString.Bases)] = [
        ("consent", .consent), ("legitimate_interest", .legitimateInterest), ("implied_consent", .impliedConsent),
    ]

    private let tcf: SignalMember
    private let rules: TCFRules

    init(_ members: [SignalMember], _ map: ConsentMapCompiler) {
        tcf = members[0]
        rules = TCFRules(map)
    }

    func read(_ event: ScannedEvent, _ reading: inout ConsentReading) {
        let slot = event.slots[tcf.slot]
        guard !rules.isEmpty, slot.isPresent else { return }
        guard let text = reading.text(slot, in: event.block) else { return reading.breaks(tcf) }
        // A consent platform that has nothing to ask leaves an empty string.
        if text.count == 0 { return }
        guard let string = TCString(text.bytes) else { return reading.breaks(tcf) }
        rules.apply(string, &reading)
    }

    /// `map.tcf`, compiled. A GPP string can contain a TC string, so its signal uses the rules too.
    struct TCFRules: BitwiseCopyable {
        private struct Rule: BitwiseCopyable {
            /// The bit of the purpose.
            let purpose: Int
            let wanted: UnsafeBufferPointer<Int>
            /// The vendor. It is 0 if none is named.
            let vendor: Int
            let bases: TCString.Bases

            func isGranted(by string: TCString) -> Bool {
                for purpose in wanted where !string.allows(purpose, vendor: vendor == 0 ? nil : vendor, by: bases) { return false }
                return true
            }

            func isGranted(by string: CanadaString) -> Bool {
                for purpose in wanted where !string.allows(purpose, vendor: vendor == 0 ? nil : vendor, by: bases) { return false }
                return true
            }
        }

        private let rules: UnsafeBufferPointer<Rule>

        init(_ map: ConsentMapCompiler) {
            rules = map.rules("tcf") { purpose, meaning in
                let words = meaning.words("basis") ?? ["consent"]
                return Rule(
                    purpose: purpose, wanted: map.store.list(meaning.numbers("purposes") ?? []),
                    vendor: meaning.numbers("vendor")?.first ?? 0,
                    bases: TCString.Bases(TCFSignal.bases.filter { words.contains($0.word) }.map(\.basis)))
            }
        }

        var isEmpty: Bool { rules.isEmpty }

        func apply(_ string: TCString, _ reading: inout ConsentReading) {
            for rule in rules { reading.cover(purpose: rule.purpose, isGranted: rule.isGranted(by: string)) }
        }

        func apply(_ string: CanadaString, _ reading: inout ConsentReading) {
            for rule in rules { reading.cover(purpose: rule.purpose, isGranted: rule.isGranted(by: string)) }
        }
    }
}
