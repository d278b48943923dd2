// The form of the section `providers`: the module, how its lane delivers, its isolation, what it does at the hand-over, and the module's own
// settings.

internal import Document
internal import Expressions
internal import FormReading
internal import Plans

enum ProviderForms {
    static let providers = Form<[ProviderPlan]>(table.schema) { node, reading in
        let names = node.entries?.map(\.key.name) ?? []
        reading.providers = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        let modules = node.entries?.compactMap { $0.node["plugin"]?.text }.filter { !$0.isBroken }.map(\.value) ?? []
        reading.prepareDescriptions(of: modules.filter(isModuleName))
        return table.read(node, reading)?.map { name, plan in
            var plan = plan
            plan.name = name
            return plan
        }
    }

    private static let table = Forms.table("providers", by: Forms.anyKey, of: provider, most: RootForm.mostEntries)

    /// The keys of a provider that belong to the router. No module can have settings with these names.
    static let ownKeys = ["plugin", "delivery", "isolate", "filter", "transform", "lint"]

    /// True, false, or an object with the limits of the process. False is read as nil.
    static let isolation = Form<IsolationPlan?>(SchemaParts.anyOf([#"{"type":"boolean"}"#, isolationLimits.schema])) { node, reading in
        if case .bool(let isIsolated) = node.value { return .some(isIsolated ? IsolationPlan() : nil) }
        guard node.entries != nil else {
            reading.refuseType(node, "true, false or an object with 'memory' or 'environment'")
            return nil
        }
        return isolationLimits.read(node, reading)
    }

    private static let isolationLimits = Form<IsolationPlan>.object(
        IsolationPlan(),
        [
            Member("memory", Forms.size(64_000_000...1_000_000_000_000), "The most address space of the module's process.", into: \.memory),
            Member(
                "environment", variables,
                "Variables for the process of the module, in addition to PATH, HOME, LANG, TZ, TMPDIR and LD_LIBRARY_PATH; none when left out.",
                example: #"{"MODE": "fast"}"#,
                into: \.environment),
        ])

    private static let variables = Form<[IsolationPlan.Variable]>(variableTable.schema) { node, reading in
        variableTable.read(node, reading)?.map { IsolationPlan.Variable(name: $0, value: $1) }
    }
    private static let variableTable = Forms.table("variables", by: variableName, of: variableValue, most: 1000)

    private static let variableName = KeyForm<String>(schema: #"{"type":"string","pattern":"^[A-Za-z_][A-Za-z0-9_]*$"}"#) {
        key, node, reading in
        let isName = key.name.utf8.allSatisfy { Lexer.isDigit($0) || $0 == UInt8(ascii: "_") || 0x61...0x7A ~= $0 | 0x20 }
        if isName, let first = key.name.utf8.first, !Lexer.isDigit(first) { return key.name }
        reading.fault(
            node, at: key.range.lowerBound,
            "the key \(Words.quoted(key.name)) must be the name of a variable, of letters, digits and _, and not begin with a digit")
        return nil
    }

    private static let variableValue = Form<String>(#"{"type":"string","pattern":"^[^\\u0000]*$"}"#) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        if !text.value.utf8.contains(0) { return text.value }
        reading.refuse(node, "text without a NUL character")
        return nil
    }

    /// The module's settings are among the keys of the provider. Only the module's description says which settings are valid.
    private static let provider = Form<ProviderPlan>(SchemaParts.provider) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object with 'plugin'")
            return nil
        }
        let module = description(of: node, reading)
        var delivery = module?.delivery ?? DeliveryPlan()
        if let written = node["delivery"], let form = DeliveryForm.form.read(written, reading) {
            delivery = DeliveryForm.merge(form, node: written, over: delivery, limits: module?.limits, reading: reading)
        } else {
            DeliveryForm.lower(&delivery, to: module?.limits)
        }
        let shape = ShapeForms.shape(of: node, reading)
        if let lint = node["lint"] { _ = LintForms.section.read(lint, reading) }
        guard let module else { return nil }
        var own = node
        own.value = .object(entries.filter { !ownKeys.contains($0.key.name) })
        var isolated: IsolationPlan?
        if let written = node["isolate"] { isolated = isolation.read(written, reading) ?? nil }
        let constants = own[Environment.constantsName]?.entries?.map(\.key.name) ?? []
        let check = SettingsCheck(reading: reading, constants: constants)
        guard let json = check.object(own, module.settings, alsoKnown: ownKeys) else { return nil }
        var plan = ProviderPlan(name: "", plugin: module.name, settings: Secret(Array(json.utf8)))
        plan.shownSettings = SettingsText.rows(of: own, module.settings)
        plan.delivery = delivery
        plan.deduplicates = module.deduplicates
        plan.isolation = isolated
        plan.shape = shape
        plan.place = reading.place(of: node)
        return plan
    }

    static func isModuleName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 100
            && name.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7A || Lexer.isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    private static func description(of node: Node, _ reading: Reading) -> ModuleDescription? {
        guard let plugin = node["plugin"] else {
            reading.fault(node, "lacks 'plugin', expected the name of a module; installed: \(installed(reading))")
            return nil
        }
        guard let text = Forms.string.read(plugin, reading) else { return nil }
        guard isModuleName(text.value) else {
            reading.refuse(plugin, "the name of a module, of letters a to z, digits, _ and -")
            return nil
        }
        do throws(ModuleFault) {
            if let module = try reading.description(of: text.value) {
                if module.offersProvider { return module }
                reading.fault(plugin, "the module \(Reading.named(plugin)) is a source, and offers no provider")
                return nil
            }
            reading.unknown("module", plugin, among: reading.catalog.names, otherwise: "installed: \(installed(reading))")
        } catch {
            let shown = text.isTainted ? Reading.hidden(text) : Words.quoted(text.value)
            // The fault names the module. A name that came from outside the file must stay hidden.
            reading.fault(
                plugin, text.isTainted ? "the module named by \(shown) cannot be used" : "the module \(shown) cannot be used: \(error)")
        }
        return nil
    }

    static func installed(_ reading: Reading) -> String {
        let names = reading.catalog.names.sorted()
        return names.isEmpty ? "none" : Words.all(names)
    }
}
