// The form of a source that a module brings: the keys of the router, and the module's own settings.

internal import Document
internal import Expressions
internal import FormReading
internal import Plans

enum ModuleSourceForms {
    /// The keys of the router, in the order in which they are shown.
    struct Own: Sendable {
        var consent: ConsentRight?
        var inFlight = ModuleSourcePlan(settings: Secret([])).inFlight
    }

    static let own = Form<Own>.object(Own(), members)

    /// The keys as the schema shows them.
    static var shownMembers: [(name: String, json: String)] { members.map { $0.schema(in: Own()) } }

    private static let members: [Member<Own>] =
        [
            Member(
                "consent", SourceForms.right,
                "\"write\" lets its events grant consent, tie ids and erase; they can only refuse when left out.", example: #""write""#,
                into: \.consent),
            Member(
                "in_flight", Forms.size(1000...(1 << 40)),
                "The most bytes of events that were handed over and have not come to their end; the module pauses at it; 64MB when left out.",
                into: \.inFlight),
            LintForms.member(),
        ]

    /// Reads a source whose plugin is not one of the router's own.
    static func read(_ node: Node, _ plugin: Node, _ reading: Reading) -> SourcePlan? {
        guard let module = description(named: plugin, reading), let entries = node.entries else { return nil }
        if let isolate = node["isolate"] {
            reading.fault(isolate, "a source cannot be isolated; only a provider can, expected no 'isolate' here")
        }
        var routers = node
        routers.value = .object(entries.filter { ["consent", "in_flight", "lint"].contains($0.key.name) })
        var modules = node
        modules.value = .object(entries.filter { !SourceForms.ownKeys.contains($0.key.name) })
        let keys = own.read(routers, reading)
        let constants = modules[Environment.constantsName]?.entries?.map(\.key.name) ?? []
        let check = SettingsCheck(reading: reading, constants: constants)
        guard let json = check.object(modules, module.settings, alsoKnown: SourceForms.ownKeys), let keys else { return nil }
        var plan = SourcePlan(name: "", plugin: module.name)
        var settings = ModuleSourcePlan(settings: Secret(Array(json.utf8)))
        settings.shownSettings = SettingsText.rows(of: modules, module.settings)
        settings.inFlight = keys.inFlight
        settings.place = reading.place(of: node)
        plan.module = settings
        plan.consent = keys.consent
        return plan
    }

    private static func description(named plugin: Node, _ reading: Reading) -> SourceDescription? {
        guard let text = plugin.text else { return nil }
        guard ProviderForms.isModuleName(text.value) else {
            reading.refuse(plugin, "\"stdin\", \"http\", \"file\", or the name of a module, of letters a to z, digits, _ and -")
            return nil
        }
        do throws(ModuleFault) {
            if let module = try reading.description(of: text.value) {
                if let source = module.source { return source }
                reading.fault(
                    plugin,
                    "the module \(Reading.named(plugin)) is a provider, and offers no source; the sources of the router are "
                        + "\"stdin\", \"http\" and \"file\"")
                return nil
            }
            let own = SourceForms.Kind.allCases.map(\.rawValue)
            reading.unknown(
                "plugin", plugin, among: own + reading.catalog.names,
                otherwise: "expected \"stdin\", \"http\", \"file\" or a module that offers a source; installed: "
                    + ProviderForms.installed(reading))
        } catch {
            let shown = text.isTainted ? Reading.hidden(text) : Words.quoted(text.value)
            // The fault names the module. A name that came from outside the file must stay hidden.
            reading.fault(
                plugin, text.isTainted ? "the module named by \(shown) cannot be used" : "the module \(shown) cannot be used: \(error)")
        }
        return nil
    }
}
