// Reads routes.json. It returns a plan, or it throws the faults of the whole file at once.

public import Document
internal import FormReading
public import Plans

extension Plan {
    /// Sets the hidden texts, and masks the names of routes once: these names are only for people.
    fileprivate mutating func hide(_ texts: [String]) {
        hidden = HiddenTexts(texts, exceptInside: Set(providers.flatMap { [$0.name, $0.plugin] }))
        for route in routes.indices { routes[route].name = hidden.masked(routes[route].name) }
    }
}

public struct RoutesFile {
    /// The most bytes of a file. A larger file is refused.
    public static let largest = Syntax.largest

    /// Returns the value of `${env:NAME}`, or nil if it is not set.
    public var environment: (String) -> String?
    /// Returns the contents for `${file:PATH}`, or why the system cannot read the file.
    public var contents: (String) -> Result<[UInt8], PlaceholderFault>
    public var catalog: any ModuleCatalog

    public init(
        environment: @escaping (String) -> String?, contents: @escaping (String) -> Result<[UInt8], PlaceholderFault>,
        catalog: any ModuleCatalog
    ) {
        self.environment = environment
        self.contents = contents
        self.catalog = catalog
    }

    /// A file that was read: the plan, and the tree that it was read from, for what looks at the file itself.
    public struct Document {
        public var plan: Plan
        public var root: Node
        public var source: Source
        /// Reads the text of the tracking plan again. Returns nil if there is none, or if it cannot be read any more.
        public var trackingPlanText: () -> [UInt8]?
    }

    /// Reads the text of a file. `file` is the name of the file in the faults.
    public func read(_ text: [UInt8], file: String) throws(ConfigurationFaults) -> Plan { try document(text, file: file).plan }

    public func document(_ text: [UInt8], file: String) throws(ConfigurationFaults) -> Document {
        let source = Source(text)
        let placeholders = Placeholders(environment: environment, contents: contents)
        let reading: Reading
        var plan: Plan?
        let tree: Node
        do throws(LocatedFault) {
            let (root, faults) = try Outline.read(source, resolving: placeholders)
            tree = root
            reading = PlanReading(source, file: file, catalog: catalog, faults: faults, contents: contents)
            plan = RootForm.root.read(root, reading)
            plan?.hide(root.hiddenTexts)
        } catch {
            throw ConfigurationFaults(faults: [fault(error, source: source, file: file)])
        }
        let faults = reading.faults
        guard let plan, faults.isEmpty else { throw ConfigurationFaults(faults: faults.map { fault($0, source: source, file: file) }) }
        let (name, contents) = (tree["plan"]?.text?.value, contents)
        return Document(plan: plan, root: tree, source: source) { name.flatMap { try? contents($0).get() } }
    }

    private func fault(_ fault: LocatedFault, source: Source, file: String) -> ConfigurationFault {
        let (line, column) = source.place(of: fault.offset)
        return ConfigurationFault(file: file, line: line, column: column, message: Words.visible(fault.message))
    }
}
