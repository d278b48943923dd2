// The rules of the national ids that consist of digits. Each function says if the number follows the rule of its country.

enum NumberIDs {
    enum Certainty {
        case none
        /// So few random numbers satisfy the rule that the number is taken as an id.
        case certain
        /// The number is an id if a word announces it.
        case ifAnnounced
    }

    static func certainty(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        switch n.count {
        case 9: nine(n, countries)
        case 10: ten(n, countries)
        case 11: eleven(n, countries)
        case 12: twelve(n, countries)
        case 13: thirteen(n, countries)
        case 15: countries.contains(.france) && isFrench(n) ? .certain : .none
        case 18: countries.contains(.china) && n.isBare && isChinese(n, check: n[17]) ? .certain : .none
        default: .none
        }
    }

    private static func nine(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        if countries.contains(.unitedStates), isAmerican(n) {
            if n.shape == 0x324, n.isHyphenated || n.isSpaced { return .certain }
            if n.isBare { return .ifAnnounced }
        }
        guard countries.contains(.netherlands), isDutch(n) else { return .none }
        return n.shape == 0x423 && !n.isHyphenated ? .certain : .ifAnnounced
    }

    private static func ten(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        if countries.contains(.sweden), isSwedish(n, from: 0) { return n.shape == 0x64 && n.isHyphenated ? .certain : .ifAnnounced }
        let isDanish = IDNumber.isDate(month: n.part(2, 2), day: n.part(0, 2)) && (n.isBare || n.shape == 0x64)
        return countries.contains(.denmark) && isDanish ? .ifAnnounced : .none
    }

    private static func eleven(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        if countries.contains(.brazil), isBrazilian(n), n.isBare || n.shape == 0x3332 { return .certain }
        if countries.contains(.norway), isNorwegian(n), n.isBare || n.shape == 0x65 { return .certain }
        if countries.contains(.belgium), isBelgian(n) { return .certain }
        if countries.contains(.turkey), n.isBare, isTurkish(n) { return .certain }
        if countries.contains(.poland), n.isBare, isPolish(n) { return .certain }
        guard countries.contains(.germany), isGerman(n) else { return .none }
        return n.shape == 0x2333 ? .certain : .ifAnnounced
    }

    private static func twelve(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        let isSwede = countries.contains(.sweden) && (19...20).contains(n.part(0, 2)) && isSwedish(n, from: 2)
        if isSwede, n.isBare || n.shape == 0x84 { return .certain }
        let isOne = countries.contains(.india) && isIndian(n) || countries.contains(.japan) && isJapanese(n)
        guard isOne else { return .none }
        return n.shape == 0x444 && n.isSpaced ? .certain : n.isBare || n.shape == 0x444 ? .ifAnnounced : .none
    }

    private static func thirteen(_ n: IDNumber, _ countries: CountrySet) -> Certainty {
        if countries.contains(.switzerland), isSwiss(n) { return .certain }
        let isKorean = n.shape == 0x67 && n.isHyphenated || n.isBare
        guard countries.contains(.korea), isKorean, IDNumber.isDate(month: n.part(2, 2), day: n.part(4, 2)) else { return .none }
        return n.isBare ? .ifAnnounced : .certain
    }

    // MARK: - The rules

    /// SSN and ITIN: the areas, groups and serial numbers that are issued.
    private static func isAmerican(_ n: IDNumber) -> Bool {
        let (area, group) = (n.part(0, 3), n.part(3, 2))
        guard area != 0, area != 666, group != 0, n.part(5, 4) != 0 else { return false }
        return area < 900 || (50...65).contains(group) || (70...99).contains(group) && group != 89 && group != 93
    }

    /// BSN: the eleven-test.
    private static func isDutch(_ n: IDNumber) -> Bool { n.part(0, 9) > 9_999_999 && (n.sum("98765432") - n[8]) % 11 == 0 }

    /// Personnummer: a date and Luhn's check digit. A number for coordination adds 60 to the day.
    private static func isSwedish(_ n: IDNumber, from: Int) -> Bool {
        let day = n.part(from + 4, 2)
        guard IDNumber.isDate(month: n.part(from + 2, 2), day: day > 60 ? day - 60 : day) else { return false }
        var sum = 0
        for i in 0..<10 {
            let digit = n[from + i]
            sum += i % 2 == 0 ? digit / 5 + digit * 2 % 10 : digit
        }
        return sum % 10 == 0
    }

    /// CPF: two check digits; not all digits are the same.
    private static func isBrazilian(_ n: IDNumber) -> Bool {
        let first = n.sum("a98765432") * 10 % 11 % 10
        let second = n.sum("ba98765432") * 10 % 11 % 10
        return n[9] == first && n[10] == second && n.part(0, 11) != n[0] * 11_111_111_111
    }

    /// Fødselsnummer: a date and two check digits. A D number adds 40 to the day, and some systems add 40 to the month.
    private static func isNorwegian(_ n: IDNumber) -> Bool {
        let (day, month) = (n.part(0, 2), n.part(2, 2))
        guard IDNumber.isDate(month: month > 40 ? month - 40 : month, day: day > 40 ? day - 40 : day) else { return false }
        return (n.sum("376189452") + n[9]) % 11 == 0 && (n.sum("5432765432") + n[10]) % 11 == 0
    }

    /// Rijksregisternummer: a date and the remainder modulo 97. From 2000 on, a 2 stands before the digits.
    private static func isBelgian(_ n: IDNumber) -> Bool {
        guard IDNumber.isDate(month: n.part(2, 2) % 20, day: n.part(4, 2)) else { return false }
        let number = n.part(0, 9)
        return n.part(9, 2) == 97 - number % 97 || n.part(9, 2) == 97 - (2_000_000_000 + number) % 97
    }

    /// T.C. kimlik numarası: two check digits.
    private static func isTurkish(_ n: IDNumber) -> Bool {
        let odd = n[0] + n[2] + n[4] + n[6] + n[8]
        let even = n[1] + n[3] + n[5] + n[7]
        return n[0] > 0 && (odd * 7 - even + 100) % 10 == n[9] && (odd + even + n[9]) % 10 == n[10]
    }

    /// PESEL: a date of 1900 to 2099, and a check digit.
    private static func isPolish(_ n: IDNumber) -> Bool {
        let month = n.part(2, 2)
        guard IDNumber.isDate(month: month > 20 ? month - 20 : month, day: n.part(4, 2)) else { return false }
        return (n.sum("1379137913") + n[10]) % 10 == 0
    }

    /// Identifikationsnummer: of the first ten digits exactly one comes two or three times, and ISO 7064 (mod 11, 10) gives the last one.
    private static func isGerman(_ n: IDNumber) -> Bool {
        guard n[0] > 0 else { return false }
        var counts: UInt64 = 0
        var product = 10
        for i in 0..<10 {
            counts += 1 << UInt64(n[i] * 4)
            let sum = (n[i] + product) % 10
            product = (sum == 0 ? 10 : sum) * 2 % 11
        }
        var repeated = 0
        for digit in 0..<10 {
            let count = counts >> UInt64(digit * 4) & 15
            if count > 3 { return false }
            if count > 1 { repeated += 1 }
        }
        return repeated == 1 && (11 - product) % 10 == n[10]
    }

    /// Aadhaar: it begins with 2 to 9 and ends in Verhoeff's check digit.
    private static func isIndian(_ n: IDNumber) -> Bool {
        guard n[0] > 1 else { return false }
        var check = 0
        for i in 0..<12 { check = Verhoeff.multiply(check, Verhoeff.permute(i % 8, n[11 - i])) }
        return check == 0
    }

    /// My Number: a check digit modulo 11.
    private static func isJapanese(_ n: IDNumber) -> Bool {
        let rest = n.sum("65432765432") % 11
        return n[11] == (rest <= 1 ? 0 : 11 - rest)
    }

    /// AHV: it begins with 756 and ends in the check digit of EAN-13.
    private static func isSwiss(_ n: IDNumber) -> Bool {
        n.part(0, 3) == 756 && (n.isBare || n.shape == 0x3442) && (n.sum("131313131313") + n[12]) % 10 == 0
    }

    /// NIR: the sex, the month, and a key modulo 97. Corsica, whose numbers hold a letter, is not found.
    private static func isFrench(_ n: IDNumber) -> Bool {
        let month = n.part(3, 2)
        guard [1, 2, 7, 8].contains(n[0]), (1...12).contains(month) || (20...42).contains(month) || month >= 50 else { return false }
        return n.part(13, 2) == 97 - n.part(0, 13) % 97
    }

    /// The resident identity number: a region, a date from 1900 to 2099, and a check digit, where 10 stands for X.
    static func isChinese(_ n: IDNumber, check: Int) -> Bool {
        guard (11...82).contains(n.part(0, 2)), (1900...2099).contains(n.part(6, 4)),
            IDNumber.isDate(month: n.part(10, 2), day: n.part(12, 2))
        else { return false }
        return (n.sum("79a584216379a5842") + check) % 11 == 1
    }
}

/// The tables of Verhoeff's check digit: the multiplication of the dihedral group of order ten, and a permutation.
private enum Verhoeff {
    static func multiply(_ a: Int, _ b: Int) -> Int {
        if a < 5 { return b < 5 ? (a + b) % 5 : 5 + (a + b) % 5 }
        return b < 5 ? 5 + (a - b + 5) % 5 : (a - b + 5) % 5
    }

    static func permute(_ times: Int, _ digit: Int) -> Int {
        var digit = digit
        for _ in 0..<times { digit = Int(table.utf8Start[digit] - 0x30) }
        return digit
    }

    private static var table: StaticString { "1576283094" }
}
