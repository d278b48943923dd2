// The bench on which a dialect works: scanners and buffers that are recycled from body to body. One for each worker.
// `translate` promises that each line it leaves is one event to the scanner.

public import Events

public struct Translator: ~Copyable, Sendable {
    public let limits: TranslationLimits

    /// `wanted` are the members that the rules name. A key that is there twice stays as it is unless its path is one of them:
    /// then the last one wins.
    public init(wanted: [Path] = [], limits: TranslationLimits = TranslationLimits()) {
        self.limits = limits
    }

    /// Translates one body into an emptied translation.
    public mutating func translate(
        _ body: UnsafeRawBufferPointer, from dialect: any Dialect, _ reception: Reception, into translation: inout Translation
    ) {
        translation.removeAll()
        dialect.translate(body, reception, &self, into: &translation)
    }
}
