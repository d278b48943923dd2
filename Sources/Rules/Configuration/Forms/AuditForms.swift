// The form of the section `audit`.

internal import Document
internal import Editing
internal import FormReading
internal import MerkleLog
internal import Plans

enum AuditForms {
    private static let year = 366 * 86_400_000
    private static let auditKey = Forms.key("audit key")

    static let section = Form<AuditPlan>.object(
        AuditPlan(),
        [
            Member(
                "key", auditKey, required: true,
                "The name of the key in 'keys' from which the keys are derived that sign the trail and hash the ids in it.",
                example: #""audit""#, into: \.key),
            Member(
                "previous", Forms.set("keys", of: auditKey, least: 0), "The names of the keys that signed it before; none when left out.",
                example: #"["audit-2025"]"#, into: \.previous),
            Member(
                "origin", origin, "The name of the log, such as example.com/switchyard; made from the key when left out.",
                example: #""example.com/switchyard""#, into: \.origin),
            Member(
                "verdicts", Forms.choice(AuditPlan.Verdicts.self),
                "The events whose verdicts are kept: \"none\", \"denied\" or \"all\"; \"denied\" when left out.", example: #""all""#,
                into: \.verdicts),
            Member(
                "retention", Forms.time(3_600_000...(100 * year)),
                "How long entries and verdicts are kept, while their hashes stay; for good when left out.", example: #""730d""#,
                into: \.retention),
            Member(
                "heads", heads, "Where each new signed head is brought to; nowhere when left out.",
                example: #"{"file": "/mnt/elsewhere/head"}"#, into: \.heads),
        ])

    private static let heads = Form<AuditPlan.Heads>.object(
        AuditPlan.Heads(),
        [
            Member(
                "file", place, "A file that gets the head, best on another machine; none when left out.",
                example: #""/mnt/elsewhere/head""#, into: \.file),
            Member(
                "command", Forms.list("words", of: place, most: 100),
                "A command and its arguments, which gets the request add-checkpoint of a witness and prints the signatures; none when left out.",
                example: #"["ask-witness", "https://witness.example"]"#, into: \.command),
            Member(
                "every", Forms.time(1000...year), "How often a new head is brought there; 1m when left out.", example: #""5m""#,
                into: \.every),
            Member(
                "witnesses", Forms.set("public keys", of: witness, least: 0),
                "The public keys of witnesses, NAME+ID+KEY, which all sign a head before it counts as published; none when left out.",
                example: #"["witness.example+abcdef01+BASE64"]"#, into: \.witnesses),
        ]
    ).then { plan, node, reading in
        if !plan.witnesses.isEmpty, plan.command.isEmpty, let place = node["witnesses"] {
            reading.fault(place, "names witnesses, expected 'command', which asks them")
        }
        return plan
    }

    private static let origin = Forms.name.then { name, node, reading -> String? in
        guard NoteKey.isName(name) else {
            reading.refuse(node, "a name without spaces and plus signs, such as example.com/switchyard")
            return nil
        }
        return name
    }

    private static let place = Forms.string.then { text, node, reading -> String? in
        guard !text.value.isEmpty, !text.value.utf8.contains(0) else {
            reading.refuse(node, "a text, not empty")
            return nil
        }
        return text.value
    }

    private static let witness = Forms.string.then { text, node, reading -> String? in
        guard NoteKey(text.value)?.algorithm == .cosignature else {
            reading.refuse(node, "the public key of a witness, NAME+ID+KEY, for Ed25519 cosignatures")
            return nil
        }
        return text.value
    }

    /// Reports a key that is used for something else too. Who may check the trail must not learn what the other keys protect.
    static func checkKeys(_ plan: Plan, node: Node, reading: Reading) {
        guard let audit = plan.audit, let place = node["audit"]?["key"] else { return }
        if audit.previous.contains(audit.key) {
            reading.fault(place, "names the same key as the current and as a previous one, expected another key")
        }
        let own = Set([audit.key] + audit.previous)
        let ledger = plan.consent?.ledger.map { [$0.key] + $0.previous } ?? []
        let hashing = (plan.routes.flatMap(\.transforms) + plan.providers.flatMap(\.shape.transforms)).compactMap { $0.hashing?.key }
        if !own.isDisjoint(with: ledger) { reading.fault(place, "names a key of the ledger, expected a key that is used only here") }
        if let other = plan.state.encrypt, own.contains(other) {
            reading.fault(place, "names the key that encrypts the state folder, expected a key that is used only here")
        }
        if !own.isDisjoint(with: hashing) {
            reading.fault(place, "names a key that routes or providers use for hashing, expected a key that is used only here")
        }
    }
}
