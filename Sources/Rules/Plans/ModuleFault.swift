// The fault of a module that cannot be used.

/// The reason why an installed module cannot be used.
public struct ModuleFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
