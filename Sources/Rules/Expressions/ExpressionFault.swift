// Why a text is no expression, and where: found when it is compiled, never when it runs.

public struct ExpressionFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    /// Counted in bytes from the start of the text.
    public var offset: Int
    public var description: String { message }

    public init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}

/// What bounds an expression, so that one in a configuration can neither stall a router nor fill its memory.
public struct ExpressionLimits: Sendable {
    /// The bytes of its text.
    public var length = 32 << 10
    /// How deep it may nest. Evaluation and checks recurse as deep.
    public var depth = 100
    /// How many steps one evaluation may take; every operation, every element and every 64 bytes read or written is one.
    public var steps = 100_000
    /// How many bytes the values may have that one evaluation makes.
    public var bytes = 16 << 20

    public init() {}
}
