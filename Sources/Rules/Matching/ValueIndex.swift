// Finds the lists of scalars that have the value of a member, with one look at the member for all lists. A list is found exactly if
// `MatchRule.matches` of that list is true, unless the value is written in an unusual form: then more lists are found, or the answer is
// `undecided`.

public import Events
public import Plans

public struct ValueIndex: BitwiseCopyable {
    public struct Answer: BitwiseCopyable {
        public enum Kind: UInt8, BitwiseCopyable {
            /// The event lacks the member.
            case absent
            /// The value is written with escapes. Each list must be compared.
            case undecided
            /// No list but those of `owners` has the value.
            case found
        }

        public let kind: Kind
        public let owners: UnsafeBufferPointer<Int>
    }

    private let slot: Int
    /// The owners by the value as an event usually writes it.
    private let values: ByteTable
    /// The owners whose lists have a number.
    private let numeric: UnsafeBufferPointer<Int>
    /// True if all numbers of the lists are in the usual form, so that a number of that form is found by its text.
    private let hasUsualNumbers: Bool

    /// `lists` has the values of each owner. Every owner comes once.
    public init(_ lists: [(owner: Int, values: [Scalar])], slot: Int, in store: Store) {
        self.slot = slot
        var texts = ByteTable.Lists()
        var numeric: [Int] = []
        var hasUsualNumbers = true
        for list in lists {
            for value in list.values {
                texts.add(list.owner, under: ValueIndex.text(value))
                guard case .number(let number) = value else { continue }
                if numeric.last != list.owner { numeric.append(list.owner) }
                if !Array(number.utf8).withUnsafeBufferPointer({ ValueIndex.isUsual($0) }) { hasUsualNumbers = false }
            }
        }
        values = ByteTable(texts, in: store)
        self.numeric = store.list(numeric)
        self.hasUsualNumbers = hasUsualNumbers
    }

    /// Returns the value as an event writes it if it needs no escape.
    public static func text(_ value: Scalar) -> [UInt8] {
        switch value {
        case .null: Array("null".utf8)
        case .bool(let value): Array("\(value)".utf8)
        case .number(let number): Array(number.utf8)
        case .string(let string): Array("\"\(string)\"".utf8)
        }
    }

    @inline(__always) public func look(_ event: ScannedEvent) -> Answer {
        let slot = event.slots[slot]
        let none = UnsafeBufferPointer<Int>(start: nil, count: 0)
        guard slot.isPresent else { return Answer(kind: .absent, owners: none) }
        let value = slot.value(in: event.block)
        if value.isNumber, !hasUsualNumbers || !ValueIndex.isUsual(value.bytes) { return Answer(kind: .found, owners: numeric) }
        if value.base[0] == UInt8(ascii: "\""), value.hasEscape { return Answer(kind: .undecided, owners: none) }
        return Answer(kind: .found, owners: values.numbers(under: value))
    }

    /// The most digits of a number in the usual form. It fits into 64 bits.
    private static let mostDigits = 18

    /// Returns true if the number is an integer without a fraction, an exponent and a needless sign. Two such numbers are equal only if their
    /// texts are.
    private static func isUsual(_ number: UnsafeBufferPointer<UInt8>) -> Bool {
        let digits = number.first == UInt8(ascii: "-") ? number.dropFirst() : number[...]
        if digits.first == UInt8(ascii: "0") { return number.count == 1 }
        return digits.count <= mostDigits && digits.allSatisfy { $0 &- 0x30 < 10 }
    }
}
