// The HTTP API of Segment and RudderStack: single calls, `batch` and `import`.

public import Events

public struct Segment: Dialect {
    /// The last part of the request's path.
    public enum Call: String, Sendable, CaseIterable {
        case track, identify, page, screen, group, alias, batch, `import`
    }

    public let call: Call

    public init(_ call: Call) { self.call = call }

    public func translate(
        _ body: UnsafeRawBufferPointer, _ reception: Reception, _ translator: inout Translator, into translation: inout Translation
    ) {}
}
