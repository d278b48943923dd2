// The faults of a configuration file, each with its place.

internal import Document

/// One fault of a configuration file, with its place.
public struct ConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// The line, from 1. The column is from 1 too and counts units of UTF-16, as editors do.
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

/// The place of a value in a configuration file. It is kept for faults that are found after the file was read.
public struct ConfigurationPlace: Hashable, Sendable {
    public var file: String
    public var line: Int
    public var column: Int
    /// The path of the value as messages show it: `providers.archive`.
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

/// All faults of a file, in the order of the file.
public struct ConfigurationFaults: Error, Sendable {
    public var faults: [ConfigurationFault]

    public init(faults: [ConfigurationFault]) {
        self.faults = faults
    }
}
