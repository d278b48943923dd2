// A set of constant texts, such as names that a vendor reserves. It never allocates when it is asked.

public struct TextSet: Sendable {
    private let texts: [StaticString]
    private let ignoresCase: Bool
    /// One bit for each length of a text, modulo 64. Most values have none of them.
    private let lengths: UInt64

    /// With `ignoringCase` the texts are in lower case, and the letters A to Z of a value equal their lower-case forms.
    public init(_ texts: [StaticString], ignoringCase: Bool = false) {
        self.texts = texts
        ignoresCase = ignoringCase
        lengths = texts.reduce(0) { $0 | 1 << UInt64($1.utf8CodeUnitCount & 63) }
    }

    /// Returns true if the value is one of the texts, or a number that is written like one.
    public func contains(_ value: Value) -> Bool {
        guard value.isText else { return contains(UnsafeBufferPointer(start: value.base, count: value.count)) }
        return value.withText { $0.map(contains) ?? false }
    }

    /// Returns true if the bytes are one of the texts.
    public func contains(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard lengths & 1 << UInt64(text.count & 63) != 0 else { return false }
        return texts.contains { candidate in
            guard candidate.utf8CodeUnitCount == text.count else { return false }
            for index in 0..<text.count {
                let byte = text[index]
                let isUpper = ignoresCase && byte &- UInt8(ascii: "A") < 26
                if isUpper ? byte | 0x20 != candidate.utf8Start[index] : byte != candidate.utf8Start[index] { return false }
            }
            return true
        }
    }
}
