// Why a module cannot be used.

/// A module that is there but cannot be used.
public struct ModuleFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
