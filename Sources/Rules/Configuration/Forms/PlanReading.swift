// The reading of a whole routes.json. It adds the names that later sections refer to, and the descriptions of the modules.

internal import Document
internal import FormReading
internal import Plans

final class PlanReading: Reading {
    /// What this reading has in addition to the faults and the names of the keys.
    fileprivate struct Context {
        let file: String
        let catalog: any ModuleCatalog
        let contents: Contents
        var providers: [String: Int] = [:]
        var consent: ConsentNames?
        var descriptions: [String: Result<ModuleDescription?, ModuleFault>] = [:]
    }

    /// Reads a file that the configuration names.
    typealias Contents = (String) -> Result<[UInt8], PlaceholderFault>

    fileprivate var context: Context

    init(
        _ source: Source, file: String, catalog: any ModuleCatalog, faults: [LocatedFault] = [],
        contents: @escaping Contents = { _ in .failure(PlaceholderFault("no file is read")) }
    ) {
        context = Context(file: file, catalog: catalog, contents: contents)
        super.init(source, faults: faults)
    }
}

/// The forms of a plan are read with a `PlanReading` only.
extension Reading {
    private var plan: PlanReading {
        guard let reading = self as? PlanReading else { preconditionFailure("a form of a plan reads another document") }
        return reading
    }

    /// The index of each provider in the plan. An invalid provider has one too, so that a reference to it is not a second fault.
    var providers: [String: Int] {
        get { plan.context.providers }
        set { plan.context.providers = newValue }
    }

    /// The names of the consent section. It is nil if there is none.
    var consent: ConsentNames? {
        get { plan.context.consent }
        set { plan.context.consent = newValue }
    }

    var catalog: any ModuleCatalog { plan.context.catalog }

    /// Returns the contents of a file that the configuration names.
    func contents(_ path: String) -> Result<[UInt8], PlaceholderFault> { plan.context.contents(path) }

    /// Asks the catalog for the descriptions of all these modules at once, before they are needed one by one.
    func prepareDescriptions(of modules: [String]) {
        let new = Set(modules).filter { plan.context.descriptions[$0] == nil }
        if !new.isEmpty { plan.context.descriptions.merge(catalog.descriptions(of: new.sorted())) { first, _ in first } }
    }

    /// Returns the catalog's description of the module, which is asked for only once.
    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        prepareDescriptions(of: [module])
        return try plan.context.descriptions[module]?.get() ?? nil
    }

    func place(of node: Node) -> ConfigurationPlace {
        let (line, column) = source.place(of: node.offset)
        return ConfigurationPlace(file: plan.context.file, line: line, column: column, path: node.path.description)
    }
}

/// The names of the consent section, for the sections that refer to them.
struct ConsentNames {
    var levels: [String] = []
    var purposes: [String] = []
    /// The names that came from outside the file. No message may suggest them.
    var hidden: Set<String> = []
    var shownLevels: [String] { levels.filter { !hidden.contains($0) } }
    var shownPurposes: [String] { purposes.filter { !hidden.contains($0) } }
    var expectedPurposes: String { purposes.isEmpty ? "the levels name none" : "expected \(offer(shownPurposes))" }
    func offer(_ names: [String]) -> String { names.isEmpty ? "one that 'levels' names" : Words.either(names) }
    /// True if the section has a `default`, valid or not.
    var hasDefault = false
    /// The demand of `default`. It is nil if there is none, or if it is invalid.
    var fallback: ConsentDemand?
}
