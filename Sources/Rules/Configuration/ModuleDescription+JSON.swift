// Reads a module's description. A module is foreign code, so its description is checked like a file.

internal import Document
internal import FormReading
public import Plans

extension ModuleDescription {
    static let mostBytes = 1_000_000

    /// Reads the JSON that a module's `describe` returned. Throws if any part of it is invalid.
    public static func read(json: String) throws(ModuleFault) -> ModuleDescription {
        let draft = try DescriptionForm.read(json, by: DescriptionForm.form)
        guard let settings = draft.settings else { throw ModuleFault("its description is broken: it lacks 'settings'") }
        var description = ModuleDescription(name: draft.name, version: draft.version, summary: draft.summary, settings: settings)
        description.limits = draft.limits
        description.concurrency = draft.capabilities.concurrency
        description.canErase = draft.capabilities.erase
        description.deduplicates = draft.capabilities.deduplicates
        description.writesToStreams = draft.capabilities.streams
        description.asks = draft.capabilities.asks
        description.delivery = draft.delivery
        description.byHand = draft.byHand
        (description.mapping, description.refuses, description.cuts) = (draft.mapping, draft.refuses, draft.cuts)
        return description
    }
}

extension SourceDescription {
    /// Reads the JSON that the `describe` of a module's source returned. Throws if any part of it is invalid.
    public static func read(json: String) throws(ModuleFault) -> SourceDescription {
        let draft = try DescriptionForm.read(json, by: DescriptionForm.source)
        guard let settings = draft.settings else { throw ModuleFault("its description is broken: it lacks 'settings'") }
        if let own = settings.members.map(\.name).first(where: SourceForms.ownKeys.contains) {
            throw ModuleFault("its description is broken: the setting \(Words.quoted(own)) has the name of a key of the router")
        }
        return SourceDescription(name: draft.name, version: draft.version, summary: draft.summary, settings: settings)
    }
}

enum DescriptionForm {
    /// Reads the text of a description.
    static func read(_ json: String, by form: Form<Draft>) throws(ModuleFault) -> Draft {
        let bytes = Array(json.utf8)
        guard bytes.count <= ModuleDescription.mostBytes else { throw ModuleFault("its description is larger than 1MB") }
        let source = Source(bytes)
        let root: Node
        let reading: Reading
        do throws(LocatedFault) {
            let outline = try Outline.read(source, resolving: nil)
            root = outline.root
            reading = Reading(source, faults: outline.faults)
        } catch {
            throw ModuleFault("its description is not JSON: " + Words.visible("byte \(error.offset + 1): \(error.message)"))
        }
        let draft = form.read(root, reading)
        let faults = reading.faults
        guard let draft, faults.isEmpty else {
            let most = 5
            let more = faults.count > most ? "; and \(faults.count - most) more" : ""
            throw ModuleFault(
                "its description is broken: " + Words.visible(faults.prefix(most).map(\.message).joined(separator: "; ")) + more)
        }
        return draft
    }

    /// What the description of a source may say.
    static let source = Form<Draft>.object(
        Draft(),
        [
            Member("name", name, required: true, "The name that routes.json uses.", into: \.name),
            Member("version", text, required: true, "The version of the module.", into: \.version),
            Member("summary", text, "What it does, in one line.", into: \.summary),
            Member("settings", SchemaForms.settings, required: true, "A JSON Schema of its settings.", into: \.settings),
        ])

    struct Draft: Sendable {
        var name = ""
        var version = ""
        var summary = ""
        var settings: SettingsSchema.ObjectRules?
        var limits = ModuleDescription.Limits()
        var capabilities = Capabilities()
        var written = DeliveryForm.Draft()
        var delivery = DeliveryPlan()
        var byHand = ""
        var mapping: [ModuleDescription.MappingRow] = []
        var refuses: [ModuleDescription.LimitRow] = []
        var cuts: [ModuleDescription.LimitRow] = []
    }
    struct Capabilities: Sendable {
        var erase = false
        var deduplicates = false
        var concurrency = 1
        var streams = false
        var asks = false
    }

    static let form = Form<Draft>.object(
        Draft(),
        [
            Member("name", name, required: true, "The name that routes.json uses.", into: \.name),
            Member("version", text, required: true, "The version of the module.", into: \.version),
            Member("summary", text, "What it does, in one line.", into: \.summary),
            Member("settings", SchemaForms.settings, required: true, "A JSON Schema of its settings.", into: \.settings),
            Member("limits", limits, "The most that a batch may hold.", into: \.limits),
            Member("capabilities", capabilities, "What it can do.", into: \.capabilities),
            Member("delivery", DeliveryForm.form, "How its lane delivers unless routes.json says otherwise.", into: \.written),
            Member("by_hand", text, "What a person does to erase someone there without the module.", into: \.byHand),
            Member("mapping", Forms.list("rows", of: mappingRow, least: 0), "Where the members of an event go.", into: \.mapping),
            Member("refuses", Forms.list("rows", of: limitRow, least: 0), "What of an event is refused.", into: \.refuses),
            Member("cuts", Forms.list("rows", of: limitRow, least: 0), "What of an event is cut.", into: \.cuts),
        ]
    ).then { draft, node, reading -> Draft? in
        var draft = draft
        DeliveryForm.lower(&draft.delivery, to: draft.limits)
        if let place = node["delivery"] {
            draft.delivery = DeliveryForm.merge(draft.written, node: place, over: draft.delivery, limits: draft.limits, reading: reading)
        }
        return draft
    }

    private static let name = Form<String>(#"{"type":"string","pattern":"^[a-z0-9_-]+$"}"#) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        if ProviderForms.isModuleName(text.value) { return text.value }
        reading.refuse(node, "a name of letters a to z, digits, _ and -")
        return nil
    }

    /// A text that is printed in one line.
    static let text = Form<String>(#"{"type":"string"}"#) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        if text.value.utf8.count <= 4000, text.value == Words.visible(text.value) { return text.value }
        reading.refuse(node, "at most 4000 bytes in one line, without control characters")
        return nil
    }

    private static let mappingRow = Form<ModuleDescription.MappingRow>.object(
        ModuleDescription.MappingRow(),
        [
            Member("from", text, required: true, "A member of the event.", into: \.from),
            Member("to", text, required: true, "Where it goes.", into: \.to),
            Member("note", text, "A remark.", into: \.note),
            Member("rest", Forms.boolean, "Whether the row is about all members that no other row names.", into: \.isRest),
        ])

    private static let limitRow = Form<ModuleDescription.LimitRow>.object(
        ModuleDescription.LimitRow(),
        [
            Member("topic", text, required: true, "What the limit is about.", into: \.topic),
            Member("most", Forms.integer(0...(.max)), "The limit.", into: \.most),
            Member("what", text, required: true, "What of an event is refused or cut.", into: \.what),
        ])

    private static let limits = Form<ModuleDescription.Limits>.object(
        ModuleDescription.Limits(),
        [
            Member("events", Forms.integer(1...(.max)), "Events in a batch.", into: \.events),
            Member("bytes", Forms.integer(1...(.max)), "Bytes in a batch.", into: \.bytes),
        ])

    private static let capabilities = Form<Capabilities>.object(
        Capabilities(),
        [
            Member("erase", Forms.boolean, "Whether it can erase a subject.", into: \.erase),
            Member(
                "deduplicates", Forms.boolean, "Whether the destination recognizes a repeated event by its messageId.",
                into: \.deduplicates),
            Member("concurrency", Forms.integer(1...1024), "The most batches that are sent at once.", into: \.concurrency),
            Member("streams", Forms.boolean, "Whether it writes to standard output or standard error itself.", into: \.streams),
            Member("asks", Forms.boolean, "Whether it asks before each request begins.", into: \.asks),
        ])
}
