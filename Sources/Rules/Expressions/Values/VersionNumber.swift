// Versions in the order of Semantic Versioning 2. In addition, a version can have any number of parts, so that 1.2 equals 1.2.0, and a
// `v` can precede it.

public struct VersionNumber: Hashable, Comparable, Sendable {
    private let parts: [UInt64]
    /// The parts after the '-'. A version with such parts comes before the same version without them.
    private let before: [Part]

    private enum Part: Hashable, Comparable {
        case number(UInt64)
        case word(TextValue)

        static func < (a: Part, b: Part) -> Bool {
            switch (a, b) {
            case (.number(let a), .number(let b)): a < b
            case (.number, .word): true
            case (.word, .number): false
            case (.word(let a), .word(let b)): a.bytes.lexicographicallyPrecedes(b.bytes)
            }
        }
    }

    let text: TextValue

    init?(_ text: TextValue) {
        guard text.bytes.count <= 256 else { return nil }
        self.text = text
        var rest = text.bytes[...]
        if rest.first.map({ $0 | 0x20 }) == UInt8(ascii: "v") { rest = rest.dropFirst() }
        if let plus = rest.firstIndex(of: UInt8(ascii: "+")) { rest = rest[..<plus] }
        var tail: ArraySlice<UInt8>?
        if let dash = rest.firstIndex(of: UInt8(ascii: "-")) {
            tail = rest[(dash + 1)...]
            rest = rest[..<dash]
        }
        var parts: [UInt64] = []
        for part in rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard part.allSatisfy(isDigit), let number = UInt64(String(decoding: part, as: UTF8.self)) else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        self.parts = parts
        assert(parts.last != 0, "a version has two forms")
        var before: [Part] = []
        for word in tail?.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) ?? [] {
            guard !word.isEmpty, word.allSatisfy({ isNamePart($0) || $0 == UInt8(ascii: "-") }) else { return nil }
            let number = word.allSatisfy(isDigit) ? UInt64(String(decoding: word, as: UTF8.self)) : nil
            before.append(number.map(Part.number) ?? .word(TextValue(Array(word))))
        }
        self.before = before
    }

    public static func == (a: VersionNumber, b: VersionNumber) -> Bool { a.parts == b.parts && a.before == b.before }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parts)
        hasher.combine(before)
    }

    public static func < (a: VersionNumber, b: VersionNumber) -> Bool {
        if a.parts != b.parts { return a.parts.lexicographicallyPrecedes(b.parts) }
        if a.before.isEmpty || b.before.isEmpty { return !a.before.isEmpty && b.before.isEmpty }
        return a.before.lexicographicallyPrecedes(b.before)
    }
}
