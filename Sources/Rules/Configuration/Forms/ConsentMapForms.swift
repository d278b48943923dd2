// The form of `map` in the consent section: what consent in the formats of other platforms means for the purposes of the file. The keys
// and their meanings come from the declarations of the signals in the consent gate.

internal import ConsentGate
internal import Document
internal import FormReading
internal import Plans

enum ConsentMapForms {
    static let map = Form<ConsentMapPlan>(form.notEmpty.schema) { node, reading in
        if node.entries?.isEmpty == true { reading.fault(node, "must not be empty, expected \(Words.either(members.map(\.name)))") }
        return form.read(node, reading)
    }

    private static let form = Form<ConsentMapPlan>.object(ConsentMapPlan(), members)

    private static let members =
        ConsentSignals.meanings.map(member) + [
            Member(
                "categories", table("purposes with names", of: Forms.set("names", of: Forms.name)),
                "Other names of a purpose, as consent platforms use them; none when left out.", example: #"{"marketing": ["C0004"]}"#,
                into: \.categories),
            Member(
                "members", ownMembers,
                "Members of events that grant a purpose by one of the given values and deny it by any other value; none when left out.",
                example: #"{"marketing": {"context.device.adTrackingEnabled": true}}"#, into: \.members),
        ]

    private static let ownMembers = table("purposes with members", of: RouteForms.match).then { members, node, reading in
        for entry in node.entries ?? [] where entry.node.entries?.isEmpty == true {
            reading.fault(entry.node, "must not be empty, expected paths with values")
        }
        var plan = ConsentMapPlan()
        plan.members = members
        let count = plan.memberPaths.count
        if count > ConsentMember.mostOwn { reading.fault(node, "names \(count) members, expected at most \(ConsentMember.mostOwn)") }
        return members
    }

    private static func member(_ schema: ConsentMeaningSchema) -> Member<ConsentMapPlan> {
        let key = schema.key
        let about = "\(schema.about.dropLast()); it is not read when left out."
        return Member(key, table(schema.noun, of: meaning(schema.shape)), about, into: \ConsentMapPlan.[key])
    }

    private static func meaning(_ shape: ConsentMeaningSchema.Shape) -> Form<ConsentMeaning> {
        switch shape {
        case .words(let words, let noun):
            return Forms.set(noun, of: word(words)).then { words, _, _ in
                var meaning = ConsentMeaning()
                meaning.words = words
                return meaning
            }
        case .settings(let settings):
            return Form<ConsentMeaning>.object(
                ConsentMeaning(),
                settings.map { setting in
                    let name = setting.name
                    return Member(
                        name, values(setting.values), required: setting.isRequired, setting.about, into: \ConsentMeaning.settings[name])
                })
        }
    }

    private static func values(_ values: ConsentMeaningSchema.Values) -> Form<ConsentMeaning.Setting> {
        switch values {
        case .words(let words, let noun): Forms.set(noun, of: word(words)).then { words, _, _ in .words(words) }
        case .numbers(let range, let noun): Forms.set(noun, of: Forms.integer(range)).then { numbers, _, _ in .numbers(numbers) }
        case .number(let range): Forms.integer(range).then { number, _, _ in .numbers([number]) }
        }
    }

    private static func word(_ words: [String]) -> Form<String> {
        Form(SchemaParts.choice(words)) { node, reading in
            guard let text = node.text, words.contains(text.value) else {
                reading.refuseChoice(node, words)
                return nil
            }
            return text.value
        }.showing(JSONText.quoted(words[0]))
    }

    private static func table<Meaning>(_ noun: String, of meaning: Form<Meaning>) -> Form<[ConsentMapPlan.Entry<Meaning>]> {
        Forms.table(noun, by: purposeKey, of: meaning).then { table, _, _ in table.map { ConsentMapPlan.Entry($0.key, $0.value) } }
    }

    private static let purposeKey = KeyForm<String>(schema: SchemaParts.key, example: "analytics") { key, node, reading in
        guard let consent = reading.consent else { return nil }
        if consent.levels.isEmpty || consent.purposes.contains(key.name) { return key.name }
        let hint =
            Words.nearest(key.name, among: consent.shownPurposes).map { "did you mean \(Words.quoted($0))?" } ?? consent.expectedPurposes
        reading.fault(node, at: key.range.lowerBound, "unknown purpose \(Words.quoted(key.name)), \(hint)")
        return nil
    }
}
