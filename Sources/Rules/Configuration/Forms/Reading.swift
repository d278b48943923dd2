// One reading of one file: the faults that were found so far, and the names that later sections refer to. Its messages never show a value
// that came from outside the file.

internal import Document
internal import Plans

final class Reading {
    let source: Source
    private let file: String
    let catalog: any ModuleCatalog
    private var found: [LocatedFault]
    /// The most faults that are kept: nobody can read more.
    static let mostFaults = 1000

    /// The index of each name in the plan. Invalid entries have one too, so that a reference to them is not a second fault.
    var keys: [String: Int] = [:]
    var providers: [String: Int] = [:]
    /// The names of the consent section. It is nil if there is none.
    var consent: ConsentNames?

    private var descriptions: [String: Result<ModuleDescription?, ModuleFault>] = [:]

    init(_ source: Source, file: String = "", catalog: any ModuleCatalog, faults: [LocatedFault] = []) {
        self.source = source
        self.file = file
        self.catalog = catalog
        found = faults
    }

    /// The faults in the order of the text, each once.
    var faults: [LocatedFault] {
        let ordered = found.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
        var faults: [LocatedFault] = []
        for fault in ordered where !(fault.offset == faults.last?.offset && fault.message == faults.last?.message) { faults.append(fault) }
        return faults
    }

    /// Asks the catalog for the descriptions of all these modules at once, before they are needed one by one.
    func prepareDescriptions(of modules: [String]) {
        let new = Set(modules).filter { descriptions[$0] == nil }
        if !new.isEmpty { descriptions.merge(catalog.descriptions(of: new.sorted())) { first, _ in first } }
    }

    /// Returns the catalog's description of the module, which is asked for only once.
    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        prepareDescriptions(of: [module])
        return try descriptions[module]?.get() ?? nil
    }

    func place(of node: Node) -> ConfigurationPlace {
        let (line, column) = source.place(of: node.offset)
        return ConfigurationPlace(file: file, line: line, column: column, path: node.trail.description)
    }

    // MARK: - Reporting

    func fault(at offset: Int, _ message: String) {
        if found.count < Reading.mostFaults { found.append(LocatedFault(offset: offset, message: message)) }
    }

    /// `routes[1].sample: lacks 'rate'`
    func fault(_ node: Node, at offset: Int? = nil, _ message: String) {
        fault(at: offset ?? node.offset, node.trail.isRoot ? message : "\(node.trail): \(message)")
    }

    /// `routes[1].sample.rate must be between 0 and 1, is 1.5`
    func refuse(_ node: Node, _ must: String, hint: String = "") {
        if let text = node.text {
            if text.isBroken { return }
            // A hint would reveal something about a hidden value.
            if text.isTainted { return fault(at: node.offset, "\(subject(node)) must be \(must), \(Reading.hidden(text)) is not") }
        }
        fault(at: node.offset, "\(subject(node)) must be \(must), is \(Reading.shown(node))\(hint)")
    }

    /// Reports a value of the wrong type. If the value is hidden, the message shows only its type.
    func refuseType(_ node: Node, _ must: String) {
        if node.text?.isTainted == true { return fault(at: node.offset, "\(subject(node)) must be \(must), is a string") }
        refuse(node, must)
    }

    /// `unknown provider 'archiv', did you mean 'archive'?`
    func unknown(_ what: String, _ node: Node, among choices: [String], otherwise: String) {
        guard let text = node.text else { return }
        if text.isTainted { return fault(node, "\(Reading.hidden(text)) is not a known \(what), \(otherwise)") }
        let hint = Words.nearest(text.value, among: choices).map { "did you mean \(Words.quoted($0))?" } ?? otherwise
        fault(node, "unknown \(what) \(Words.quoted(text.value)), \(hint)")
    }

    private func subject(_ node: Node) -> String { node.trail.isRoot ? "the top level" : node.trail.description }

    static func shown(_ node: Node) -> String {
        switch node.value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): Words.shortened(text, 40)
        case .text(let text): text.isTainted ? hidden(text) : JSONText.quoted(Words.shortened(text.written, 60))
        case .list: "a list"
        case .object: "an object"
        }
    }

    /// Returns the string as messages show a name.
    static func named(_ node: Node) -> String {
        guard let text = node.text else { return shown(node) }
        return text.isTainted ? hidden(text) : Words.quoted(text.value)
    }

    /// Returns the words for a value that came from outside the file: its placeholder, as the file writes it.
    static func hidden(_ text: Node.Text) -> String {
        let isAlone = text.written.hasPrefix("${") && text.written.utf8.firstIndex(of: UInt8(ascii: "}")) == text.written.utf8.indices.last
        return "the value of " + (isAlone ? text.written : JSONText.quoted(Words.shortened(text.written, 60)))
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
