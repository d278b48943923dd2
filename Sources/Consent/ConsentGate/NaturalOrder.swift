// The order of version names as people write them: numbers in them count as numbers, so that 2.10 comes behind 2.9 and 2025-04 behind
// 2025-03. Everything else goes by its bytes.

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

    /// Takes the digits in front; without leading zeros.
    private static func number(_ text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = text.prefix(while: isDigit)
        text = text.dropFirst(digits.count)
        return digits.drop { $0 == 0x30 }
    }
}
