// Reads routes.json: text in, a plan or every fault out.

/// One fault of a configuration file, at its place.
public struct ConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// From 1; columns count bytes.
    public var line: Int
    public var column: Int
    public var message: String

    public var description: String { "\(file):\(line):\(column): \(message)" }
}

/// Everything that is wrong with a file, in the order of the file.
public struct ConfigurationFaults: Error, Sendable {
    public var faults: [ConfigurationFault]
}

public struct RoutesFile {
    /// What `${env:NAME}` resolves to; nil when it is unset.
    public var environment: (String) -> String?
    /// What `${file:PATH}` resolves to, or the system's words why not.
    public var contents: (String) -> Result<[UInt8], ModuleFault>
    public var catalog: any ModuleCatalog

    public init(
        environment: @escaping (String) -> String?, contents: @escaping (String) -> Result<[UInt8], ModuleFault>,
        catalog: any ModuleCatalog
    ) {
        self.environment = environment
        self.contents = contents
        self.catalog = catalog
    }

    /// `file` is the name that faults carry.
    public func read(_ text: [UInt8], file: String) throws(ConfigurationFaults) -> Plan {
        fatalError("in work")
    }
}
