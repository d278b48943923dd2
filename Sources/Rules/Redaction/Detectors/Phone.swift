// Detects a telephone number as people write it: with a plus, or in groups that begin with 00 or 0 or have the American form. A run of
// digits without groups is not one, since it cannot be distinguished from an id.

enum Phone {
    static func end(_ text: Subject, _ start: Int) -> Int? {
        var number = Number()
        var i = start
        var isOpen = text[i] == UInt8(ascii: "(")
        if isOpen { i += 1 }
        if text[i] == UInt8(ascii: "+") {
            number.hasPlus = true
            i += 1
        } else if text.isJoinedBefore(start, by: isTight) {
            return nil
        }
        guard text.isDigit(i) else { return nil }
        var end: Int?
        while number.readGroup(text, &i) {
            var isClosed = false
            if isOpen, text[i] == UInt8(ascii: ")") {
                i += 1
                isOpen = false
                isClosed = true
            }
            if !isOpen, number.isPhone, endsAt(text, i: i, hasPlus: number.hasPlus) { end = i }
            let groupEnd = i
            if text[i] == UInt8(ascii: " ") || isTight(text[i]) && text[i] != UInt8(ascii: ":") { i += 1 }
            if !isOpen, text[i] == UInt8(ascii: "(") {
                i += 1
                isOpen = true
            }
            guard i > groupEnd || isClosed, text.isDigit(i) else { break }
        }
        return end
    }

    /// Returns true for the marks that join digits to a date, a time, a version or an id.
    private static func isTight(_ c: UInt8) -> Bool {
        Byte.isHyphenOrDot(c) || c == UInt8(ascii: "/") || c == UInt8(ascii: ":")
    }

    private static func endsAt(_ text: Subject, i: Int, hasPlus: Bool) -> Bool {
        hasPlus ? !text.isDigit(i) : !text.goesOn(i, by: isTight)
    }

    /// The digits so far. `shape` holds the length of each group as one hexadecimal digit.
    private struct Number {
        var hasPlus = false
        private var digits = 0
        private var value = 0
        private var shape = 0
        private var groups = 0
        /// The first three digits.
        private var first = 0

        private static let mostDigits = 17

        /// Reads a group of digits and moves i past it. Returns false if there are more digits than any number has.
        mutating func readGroup(_ text: Subject, _ i: inout Int) -> Bool {
            let start = i
            while text.isDigit(i) {
                let digit = Int(text[i] - 0x30)
                value = value * 10 + digit
                digits += 1
                if digits <= 3 { first = first * 10 + digit }
                i += 1
                if digits > Number.mostDigits { return false }
            }
            groups += 1
            shape = shape << 4 | min(15, i - start)
            return true
        }

        var isPhone: Bool {
            if hasPlus { return first >= 100 && (8...15).contains(digits) }
            guard groups > 1 else { return false }
            if first < 10 { return first > 0 && digits >= 10 }
            if first < 100 { return (9...12).contains(digits) && !beginsWithDate }
            return isAmerican
        }

        /// True if the groups have the American form, where the area code and the exchange begin with 2 to 9.
        private var isAmerican: Bool {
            guard shape == 0x334 || shape == 0x1334 && first < 200 else { return false }
            return value / 10_000_000 % 1000 >= 200 && value / 10_000 % 1000 >= 200
        }

        /// True if the first groups are a date: a day and a month in either order, and a year of four digits.
        private var beginsWithDate: Bool {
            guard groups > 2, shape >> (4 * (groups - 3)) == 0x224 else { return false }
            var year = value
            for _ in 8..<digits { year /= 10 }
            return (1900...2099).contains(year % 10_000)
        }
    }
}
