// The ways in which a command fails besides wrong usage, each with an exit code of its own.

/// The configuration cannot be used; the lines say why. The exit code is 78.
public struct ConfigurationFailure: Error {
    public var lines: [String]
    public init(lines: [String]) { self.lines = lines }
}

/// A command failed with exit code 69, for instance because the state folder cannot be used. The message says why.
public struct StateFailure: Error {
    public var message: String
    public init(_ message: String) { self.message = message }
}
