// A fault says why a text is not a valid expression, and where. It is found when the expression is compiled, never when it runs. The
// limits of expressions are here too.

public struct ExpressionFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    /// The offset in bytes from the start of the text.
    public var offset: Int
    public var description: String { message }

    public init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}

/// The limits of an expression. Because of them, an expression of a configuration can neither stall the router nor fill its memory.
public struct ExpressionLimits: Sendable {
    /// The most bytes of the text.
    public var length = 32 << 10
    /// The most levels of nesting. The check and the evaluation recurse to this depth.
    public var depth = 100
    /// The most steps of one evaluation. Each operation, each element, and each 64 or fewer bytes read or written count as a step.
    public var steps = 100_000
    /// The most bytes of all values that one evaluation makes.
    public var bytes = 16 << 20

    public init() {}
}
