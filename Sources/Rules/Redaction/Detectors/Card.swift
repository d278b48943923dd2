// Detects the number of a payment card: 12 to 19 digits with a known prefix and a valid check digit (Luhn), with or without groups. The
// number of an order and that of an article are not cards, even if their check digit fits.

enum Card {
    static func end(_ text: Subject, _ start: Int, _ around: Surroundings) -> Int? {
        guard !text.isJoinedBefore(start, by: Byte.isHyphenOrDot), let end = longest(text, start) else { return nil }
        let isBare = end - start <= 19 && !(start..<end).contains { !text.isDigit($0) }
        if isBare, isArticle(text, start, end) || around.announce(.order, text, before: start) { return nil }
        return end
    }

    /// Returns true for 13 digits that end in the check digit of an article (EAN-13).
    private static func isArticle(_ text: Subject, _ start: Int, _ end: Int) -> Bool {
        guard end - start == 13 else { return false }
        var sum = 0
        for i in 0..<13 { sum += Int(text[start + i] - 0x30) * (i % 2 == 0 ? 1 : 3) }
        return sum % 10 == 0
    }

    /// Returns the end of the longest number that begins at `start`. It is nil if there is none.
    private static func longest(_ text: Subject, _ start: Int) -> Int? {
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
            guard isMark(text[i]), text.isDigit(i + 1) else { return end }
            i += 1
        }
    }

    /// A plus represents a space in a URL.
    private static func isMark(_ c: UInt8) -> Bool { c == UInt8(ascii: " ") || c == UInt8(ascii: "-") || c == UInt8(ascii: "+") }

    /// Returns the lengths of the numbers that begin with these four digits, as bits. It is 0 if no card begins with them.
    private static func lengths(_ prefix: Int) -> UInt32 {
        switch prefix {
        case 4000...4999: 1 << 13 | 1 << 16 | 1 << 19
        case 5100...5599, 2221...2720: 1 << 16
        case 3400...3499, 3700...3799: 1 << 15
        case 3000...3059, 3095, 3600...3699, 3800...3999: upTo19 << 14
        case 2200...2204, 3528...3589: upTo19 << 16
        case 5018, 5020, 5038, 5600...5899, 6304, 6390, 6700...6799: upTo19 << 12
        case 5000...5099, 5900...5999, 6300...6399: upTo19 << 13
        case 6000...6099, 6200...6299, 6440...6599, 6011: upTo19 << 16
        default: 0
        }
    }

    /// All lengths. It is shifted by the least length. The bits above 19 are never read.
    private static var upTo19: UInt32 { .max }
}
