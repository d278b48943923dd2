// The digits of a telephone number in their groups, and the forms in which numbers are written.

struct PhoneNumber {
    enum Mark { case space, hyphen, other, bracket }

    var hasPlus = false
    private var digits = 0
    private var value = 0
    /// The length of each group as one hexadecimal digit.
    private var shape = 0
    private var groups = 0
    /// The first three digits.
    private var first = 0
    private var hasSpace = false
    private var hasHyphen = false
    private var hasOther = false
    private var hasBracket = false

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
            if digits > PhoneNumber.mostDigits { return false }
        }
        groups += 1
        shape = shape << 4 | min(15, i - start)
        return true
    }

    /// Notes a mark before the next group.
    mutating func add(_ mark: Mark) {
        switch mark {
        case .space: hasSpace = true
        case .hyphen: hasHyphen = true
        case .other: hasOther = true
        case .bracket: hasBracket = true
        }
    }

    /// True if the number is one by its form.
    var isPhone: Bool {
        if hasPlus { return first >= 100 && (8...15).contains(digits) }
        if groups == 1 { return isLocal }
        if first < 10 { return first > 0 && digits >= 10 }
        if first < 100 { return (9...12).contains(digits) && !beginsWithDate && !isBook }
        return isAmerican || isGrouped
    }

    /// True if the number is one after a word that announces it.
    var canBePhone: Bool { !hasPlus && (7...15).contains(digits) && !beginsWithDate }

    /// True for ten or eleven digits without groups that begin with one 0, and for eleven with a prefix of China's mobile phones.
    private var isLocal: Bool {
        if digits == 11, PhoneNumber.isChinese(first) { return true }
        return (10...11).contains(digits) && (10...99).contains(first) && !isBook
    }

    private static func isChinese(_ prefix: Int) -> Bool {
        switch prefix {
        case 130...139, 145...149, 150...153, 155...159, 162, 165...167, 170...178, 180...189, 190...193, 195...199: true
        default: false
        }
    }

    /// True if the groups have the American form, where the area code and the exchange begin with 2 to 9.
    private var isAmerican: Bool {
        guard shape == 0x334 || shape == 0x1334 && first < 200 else { return false }
        // Brackets around the area code are enough.
        if hasBracket { return true }
        return value / 10_000_000 % 1000 >= 200 && value / 10_000 % 1000 >= 200
    }

    /// True for the forms of Brazil (12 1234-5678 and 12 91234-5678), and for those of Poland, Czechia, Spain, Norway and Denmark, in
    /// which only spaces separate three groups of three, four of two, or three, two and three.
    private var isGrouped: Bool {
        if hasOther || hasBracket { return false }
        switch shape {
        case 0x244, 0x254: return hasSpace && hasHyphen
        case 0x333: return !hasHyphen && first >= 400
        case 0x2222, 0x323: return !hasHyphen && first >= 200
        default: return false
        }
    }

    /// True if the first groups are a date: a day and a month in either order, and a year of four digits.
    private var beginsWithDate: Bool {
        guard groups > 2, shape >> (4 * (groups - 3)) == 0x224 else { return false }
        var year = value
        for _ in 8..<digits { year /= 10 }
        return (1900...2099).contains(year % 10_000)
    }

    /// True for ten digits that end in the check digit of a book (ISBN-10), without groups or in four, of which the last is that digit.
    private var isBook: Bool {
        guard digits == 10, groups == 1 || groups == 4 && shape & 15 == 1, !hasOther, !hasBracket else { return false }
        var (rest, sum) = (value, 0)
        for weight in 1...10 {
            sum += rest % 10 * weight
            rest /= 10
        }
        return sum % 11 == 0
    }
}
