// The form of `map` in the consent section: what consent in the formats of other platforms means for the purposes of the file.

internal import Document
internal import FormReading
internal import Plans

enum ConsentMapForms {
    static let map = Form<ConsentMapPlan>(form.notEmpty.schema) { node, reading in
        if node.entries?.isEmpty == true { reading.fault(node, "must not be empty, expected tcf, gpp, google or categories") }
        return form.read(node, reading)
    }

    private static let form = Form<ConsentMapPlan>.object(
        ConsentMapPlan(),
        [
            Member("tcf", table("purposes with those of TCF", of: tcf), "What a TC string must allow for a purpose.", into: \.tcf),
            Member(
                "gpp", table("purposes with opt-outs", of: Forms.set("opt-outs", of: Forms.choice(ConsentMapPlan.OptOut.self))),
                "The opt-outs of a GPP string that refuse a purpose.", into: \.gpp),
            Member(
                "google", table("purposes with signals", of: Forms.set("signals", of: Forms.choice(ConsentMapPlan.Google.self))),
                "The signals of Google's consent mode that must all be granted for a purpose.", into: \.google),
            Member(
                "categories", table("purposes with names", of: Forms.set("names", of: Forms.name)),
                "Other names of a purpose, as consent platforms use them.", into: \.categories),
        ])

    private static let tcf = Form<ConsentMapPlan.TCF>.object(
        ConsentMapPlan.TCF(),
        [
            Member(
                "purposes", Forms.set("purposes of TCF", of: Forms.integer(1...24)), required: true,
                "The purposes of TCF that must all be allowed.", into: \.purposes),
            Member(
                "vendor", Forms.integer(1...65_535), "The vendor that must be allowed too, by its id in the Global Vendor List.",
                into: \.vendor),
            Member(
                "basis", Forms.set("bases", of: Forms.choice(ConsentMapPlan.Basis.self)),
                "The legal bases, any one of which is enough; [\"consent\"] when left out.", into: \.bases),
        ])

    private static func table<Meaning>(_ noun: String, of meaning: Form<Meaning>) -> Form<[ConsentMapPlan.Entry<Meaning>]> {
        Forms.table(noun, by: purposeKey, of: meaning).then { table, _, _ in table.map { ConsentMapPlan.Entry($0.key, $0.value) } }
    }

    private static let purposeKey = KeyForm<String>(schema: SchemaParts.key) { key, node, reading in
        guard let consent = reading.consent else { return nil }
        if consent.levels.isEmpty || consent.purposes.contains(key.name) { return key.name }
        let hint =
            Words.nearest(key.name, among: consent.shownPurposes).map { "did you mean \(Words.quoted($0))?" } ?? consent.expectedPurposes
        reading.fault(node, at: key.range.lowerBound, "unknown purpose \(Words.quoted(key.name)), \(hint)")
        return nil
    }
}
