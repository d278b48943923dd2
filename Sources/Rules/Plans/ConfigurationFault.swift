// Faults of a configuration file, each at its place.

internal import Document

/// One fault of a configuration file, at its place.
public struct ConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// From 1; columns count bytes.
    public var line: Int
    public var column: Int
    public var message: String

    public var description: String { "\(file):\(line):\(column): \(message)" }

    public init(file: String, line: Int, column: Int, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }
}

/// Where something stands in a configuration file, kept for what is found out about it later.
public struct ConfigurationPlace: Hashable, Sendable {
    public var file: String
    public var line: Int
    public var column: Int
    /// As messages name it: `providers.archive`.
    public var path: String

    public func fault(_ message: String) -> ConfigurationFault {
        ConfigurationFault(file: file, line: line, column: column, message: Words.visible("\(path): \(message)"))
    }

    public init(file: String, line: Int, column: Int, path: String) {
        self.file = file
        self.line = line
        self.column = column
        self.path = path
    }
}

/// Everything that is wrong with a file, in the order of the file.
public struct ConfigurationFaults: Error, Sendable {
    public var faults: [ConfigurationFault]

    public init(faults: [ConfigurationFault]) {
        self.faults = faults
    }
}
