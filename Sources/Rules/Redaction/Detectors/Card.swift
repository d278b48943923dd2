// Detects the number of a payment card: 13 to 19 digits with a known prefix and a valid check digit (Luhn), with or without groups.

enum Card {
    /// Returns the end of the longest number that begins at `start`. It is nil if there is none.
    static func end(_ text: Subject, _ start: Int) -> Int? {
        guard !text.isJoinedBefore(start, by: Byte.isHyphenOrDot) else { return nil }
        var i = start
        var digits = 0
        var prefix = 0
        // The sums for both ways to double digits. The number of digits decides which one counts.
        var sum = 0
        var other = 0
        var end: Int?
        while true {
            while text.isDigit(i) {
                let digit = Int(text[i] - 0x30)
                let twice = digit < 5 ? digit * 2 : digit * 2 - 9
                (sum, other) = (other + digit, sum + twice)
                if digits < 4 { prefix = prefix * 10 + digit }
                digits += 1
                i += 1
                if digits > 19 { return end }
            }
            // The first group must hold the four digits that identify the brand.
            let lengths = digits < 4 ? 0 : lengths(prefix)
            if lengths == 0 { return nil }
            if lengths >> UInt32(digits) & 1 != 0, sum % 10 == 0, !text.goesOn(i, by: Byte.isHyphenOrDot) { end = i }
            guard text[i] == UInt8(ascii: " ") || text[i] == UInt8(ascii: "-"), text.isDigit(i + 1) else { return end }
            i += 1
        }
    }

    /// Returns the lengths of the numbers that begin with these four digits, as bits. It is 0 if no card begins with them.
    private static func lengths(_ prefix: Int) -> UInt32 {
        switch prefix {
        case 4000...4999: 1 << 13 | 1 << 16 | 1 << 19
        case 5100...5599, 2221...2720: 1 << 16
        case 3400...3499, 3700...3799: 1 << 15
        case 3000...3059, 3095, 3600...3699, 3800...3999: upTo19 << 14
        case 2200...2204, 3528...3589: upTo19 << 16
        case 5000...5099, 5600...6999: upTo19 << 13
        default: 0
        }
    }

    /// All lengths. It is shifted by the least length. The bits above 19 are never read.
    private static var upTo19: UInt32 { .max }
}
