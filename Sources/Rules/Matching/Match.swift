// Compiled `match` and `not`. A member matches if it equals one of the listed scalars. A missing member equals nothing, not even null.

public import Events
public import Plans

public struct MatchRule: BitwiseCopyable {
    private let slot: Int
    private let anyOf: UnsafeBufferPointer<ScalarRule>
    /// How many of the scalars are numbers.
    private let numbers: Int

    public init(_ plan: MatchPlan, slot: Int, in store: Store) {
        self.slot = slot
        anyOf = store.list(plan.anyOf.map { ScalarRule($0, in: store) })
        numbers = anyOf.count { $0.kind == .number }
    }

    /// Returns the bytes of the event that the rule reads at most, besides as many as its scalars have. Only a number is read as a whole, once
    /// for each number in the list.
    public func bytesRead(_ event: ScannedEvent) -> Int {
        let slot = event.slots[slot]
        guard numbers > 0, slot.end != 0 else { return 0 }
        let value = slot.value(in: event.block)
        return value.isNumber ? numbers * value.count : 0
    }

    @inline(__always) public func matches(_ event: ScannedEvent, _ decoder: inout Decoder) -> Bool {
        let slot = event.slots[slot]
        guard slot.end != 0 else { return false }
        let value = slot.value(in: event.block)
        var scalar = anyOf.baseAddress!
        let end = scalar + anyOf.count
        while scalar < end {
            if ScalarRule.equals(scalar, value: value, decoder: &decoder) { return true }
            scalar += 1
        }
        return false
    }
}

/// The rules of `not`. One matching glob or member is enough to exclude an event. A missing name or member never excludes an event.
public struct Exclusion: BitwiseCopyable {
    public let events: Globs
    public let match: UnsafeBufferPointer<MatchRule>

    public init(_ plan: ExclusionPlan, slot: (Path) -> Int, in store: Store) {
        events = Globs(plan.events, in: store)
        match = store.list(plan.match.map { MatchRule($0, slot: slot($0.path), in: store) })
    }

    @inline(__always) public var isEmpty: Bool { events.isEmpty && match.isEmpty }

    public func holds(_ event: ScannedEvent, name: inout EventName, nameSlot: Int, decoder: inout Decoder) -> Bool {
        if !events.isEmpty, let text = name.read(event, slot: nameSlot), events.match(text) { return true }
        return matching(event, &decoder) != nil
    }

    /// Returns the index in `match` of the first member that excludes the event.
    public func matching(_ event: ScannedEvent, _ decoder: inout Decoder) -> Int? {
        for index in match.indices where match[index].matches(event, &decoder) { return index }
        return nil
    }
}

private struct ScalarRule: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable { case word, number, string }

    let kind: Kind
    let text: ByteRun
    /// True if the text itself holds a backslash. Then equal raw bytes do not mean equal texts.
    let hasEscape: Bool

    init(_ scalar: Scalar, in store: Store) {
        switch scalar {
        case .null: (kind, text) = (.word, store.text(Array("null".utf8)))
        case .bool(let value): (kind, text) = (.word, store.text(Array("\(value)".utf8)))
        case .number(let number): (kind, text) = (.number, store.text(Array(number.utf8)))
        case .string(let string): (kind, text) = (.string, store.text(Array(string.utf8)))
        }
        hasEscape = text.hasEscape
    }

    /// The most bytes of an escape for one byte of text: `\u0041`.
    private static let longestEscape = 6

    /// Takes a pointer, since copying a rule costs more than comparing a few bytes.
    @inline(__always) static func equals(_ rule: UnsafePointer<ScalarRule>, value: ByteRun, decoder: inout Decoder) -> Bool {
        let text = rule.pointee.text
        if rule.pointee.kind == .string {
            guard value.base[0] == UInt8(ascii: "\"") else { return false }
            let raw = ByteRun(base: value.base + 1, count: value.count &- 2)
            // An escape is always longer than the text that it means.
            if raw.count == text.count { return !rule.pointee.hasEscape && raw == text }
            guard raw.count > text.count, raw.count <= ScalarRule.longestEscape * text.count else { return false }
            return raw.hasEscape && equalsDecoded(raw, text: text, decoder: &decoder)
        }
        if rule.pointee.kind == .word { return value == text }
        return value.isNumber && Number.same(value.bytes, text.bytes)
    }

    @inline(never) private static func equalsDecoded(_ raw: ByteRun, text: ByteRun, decoder: inout Decoder) -> Bool {
        decoder.decode(raw).map { $0 == text } ?? false
    }
}
