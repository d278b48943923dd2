// Orders version names as people read them: digits are compared as numbers, so 2.10 comes after 2.9, and 2025-04 after 2025-03. All other
// bytes are compared by value.

enum NaturalOrder {
    static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        var (a, b) = (a[...], b[...])
        while let (first, second) = both(a.first, b.first) {
            if isDigit(first), isDigit(second) {
                let (one, other) = (number(&a), number(&b))
                if one.count != other.count { return one.count < other.count }
                if one != other { return one.lexicographicallyPrecedes(other) }
            } else {
                if first != second { return first < second }
                a.removeFirst()
                b.removeFirst()
            }
        }
        return a.isEmpty && !b.isEmpty
    }

    private static func both(_ a: UInt8?, _ b: UInt8?) -> (UInt8, UInt8)? {
        if let a, let b { (a, b) } else { nil }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// Removes the leading digits and returns them without leading zeros.
    private static func number(_ text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = text.prefix(while: isDigit)
        text = text.dropFirst(digits.count)
        return digits.drop { $0 == 0x30 }
    }
}
