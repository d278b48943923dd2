// The router's own dialect: NDJSON, a JSON array of objects, or one object, told by their first bytes.
// Events leave byte for byte as they came, but for newlines between their tokens, which become spaces.

public import Events

public struct Native: Dialect {
    public init() {}

    public func translate(
        _ body: UnsafeRawBufferPointer, _ reception: Reception, _ translator: inout Translator, into translation: inout Translation
    ) {}
}
