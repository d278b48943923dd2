// One reading of one file: what it has found wrong so far, and the names that later parts refer to.

internal import Document
internal import Plans

final class Reading {
    let source: Source
    private let file: String
    let catalog: any ModuleCatalog
    private var found: [LocatedFault]
    /// A file with more faults than a person can read is cut off there.
    static let mostFaults = 1000

    /// Names by their index in the plan, also of entries that are themselves at fault, so that one fault is told once.
    var keys: [String: Int] = [:]
    var providers: [String: Int] = [:]
    /// nil: there is no consent section.
    var consent: ConsentNames?

    private var descriptions: [String: Result<ModuleDescription?, ModuleFault>] = [:]

    init(_ source: Source, file: String = "", catalog: any ModuleCatalog, faults: [LocatedFault] = []) {
        self.source = source
        self.file = file
        self.catalog = catalog
        found = faults
    }

    /// In the order of the text, each once.
    var faults: [LocatedFault] {
        let ordered = found.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
        var faults: [LocatedFault] = []
        for fault in ordered where !(fault.offset == faults.last?.offset && fault.message == faults.last?.message) { faults.append(fault) }
        return faults
    }

    /// Asks the catalog for these modules at once, each of which is going to be asked for.
    func prepareDescriptions(of modules: [String]) {
        let new = Set(modules).filter { descriptions[$0] == nil }
        if !new.isEmpty { descriptions.merge(catalog.descriptions(of: new.sorted())) { first, _ in first } }
    }

    /// What the catalog says of a module, asked once.
    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        prepareDescriptions(of: [module])
        return try descriptions[module]?.get() ?? nil
    }

    func place(of node: Node) -> ConfigurationPlace {
        let (line, column) = source.place(of: node.offset)
        return ConfigurationPlace(file: file, line: line, column: column, path: node.trail.description)
    }

    // MARK: - Telling

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
            // A hint would tell something of a value that is not to be told.
            if text.isTainted { return fault(at: node.offset, "\(subject(node)) must be \(must), \(Reading.hidden(text)) is not") }
        }
        fault(at: node.offset, "\(subject(node)) must be \(must), is \(Reading.shown(node))\(hint)")
    }

    /// Another type was expected; the value does not matter.
    func refuseType(_ node: Node, _ must: String) {
        if node.text?.isTainted == true { return fault(at: node.offset, "\(subject(node)) must be \(must), is a string") }
        refuse(node, must)
    }

    /// `unknown provider 'archiv', did you mean 'archive'?`
    func unknown(_ what: String, _ node: Node, among choices: [String], otherwise: String) {
        guard let text = node.text else { return }
        if text.isTainted { return fault(node, "\(Reading.hidden(text)) is no \(what), \(otherwise)") }
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

    /// A string that is a name.
    static func named(_ node: Node) -> String {
        guard let text = node.text else { return shown(node) }
        return text.isTainted ? hidden(text) : Words.quoted(text.value)
    }

    /// A value that came from outside the file, by the words of the file.
    static func hidden(_ text: Node.Text) -> String {
        let isAlone = text.written.hasPrefix("${") && text.written.utf8.firstIndex(of: UInt8(ascii: "}")) == text.written.utf8.indices.last
        return "the value of " + (isAlone ? text.written : JSONText.quoted(Words.shortened(text.written, 60)))
    }
}

/// What the consent section offers to the rest of the file.
struct ConsentNames {
    var levels: [String] = []
    var purposes: [String] = []
    /// Those that came from outside the file, which no message may offer.
    var hidden: Set<String> = []
    var shownLevels: [String] { levels.filter { !hidden.contains($0) } }
    var shownPurposes: [String] { purposes.filter { !hidden.contains($0) } }
    var expectedPurposes: String { purposes.isEmpty ? "the levels name none" : "expected \(offer(shownPurposes))" }
    func offer(_ names: [String]) -> String { names.isEmpty ? "one that 'levels' names" : Words.either(names) }
    /// It has a `default` (right or wrong), and what that says when it is right.
    var hasDefault = false
    var fallback: ConsentDemand?
}
