// The rules of the national ids that hold letters: those of Spain, Finland and China end in a letter or hold one among the digits, and those
// of Italy, Great Britain and of foreigners in Spain begin with letters.

enum LetterIDs {
    // MARK: - Digits with a letter

    /// Returns the end of an id whose first digits end at i, and whose next character is a letter or a sign.
    static func end(_ text: Subject, _ i: Int, _ number: IDNumber, _ countries: CountrySet) -> Int? {
        guard number.isBare else { return nil }
        switch number.count {
        case 6: return countries.contains(.finland) ? finnishEnd(text, i, number) : nil
        case 8: return countries.contains(.spain) ? spanishEnd(text, i, number.part(0, 8)) : nil
        case 17:
            guard countries.contains(.china), text[i] | 0x20 == UInt8(ascii: "x"), NumberIDs.isChinese(number, check: 10) else {
                return nil
            }
            return ends(text, i + 1)
        default: return nil
        }
    }

    /// DNI: a letter for the remainder modulo 23, also after a hyphen.
    private static func spanishEnd(_ text: Subject, _ i: Int, _ number: Int) -> Int? {
        let letter = text[i] == UInt8(ascii: "-") ? i + 1 : i
        guard text[letter] & 0xdf == dniLetters.utf8Start[number % 23] else { return nil }
        return ends(text, letter + 1)
    }

    /// Henkilötunnus: a date, a sign for the century, three digits and a character for the remainder modulo 31.
    private static func finnishEnd(_ text: Subject, _ i: Int, _ date: IDNumber) -> Int? {
        guard IDNumber.isDate(month: date.part(2, 2), day: date.part(0, 2)), isCentury(text[i]) else { return nil }
        var number = date.part(0, 6)
        for n in 1...3 {
            guard text.isDigit(i + n) else { return nil }
            number = number * 10 + Int(text[i + n] - 0x30)
        }
        let last = text[i + 4]
        let written = Byte.isLetter(last) ? last & 0xdf : last
        return written == hetuCharacters.utf8Start[number % 31] ? ends(text, i + 5) : nil
    }

    private static func isCentury(_ c: UInt8) -> Bool {
        switch c {
        case UInt8(ascii: "+"), UInt8(ascii: "-"): true
        default: (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(c) || (UInt8(ascii: "U")...UInt8(ascii: "Y")).contains(c)
        }
    }

    private static var dniLetters: StaticString { "TRWAGMYFPDXBNJZSQVHLCKE" }
    private static var hetuCharacters: StaticString { "0123456789ABCDEFHJKLMNPRSTUVWXY" }

    private static func ends(_ text: Subject, _ i: Int) -> Int? { text.isAlphanumeric(i) ? nil : i }

    // MARK: - Letters first

    /// NIE: X, Y or Z, seven digits, and the letter of a DNI.
    static func foreignerEnd(_ text: Subject, _ start: Int) -> Int? {
        guard (UInt8(ascii: "X")...UInt8(ascii: "Z")).contains(text[start]) else { return nil }
        var number = Int(text[start] - UInt8(ascii: "X"))
        var i = text[start + 1] == UInt8(ascii: "-") ? start + 2 : start + 1
        for _ in 0..<7 {
            guard text.isDigit(i) else { return nil }
            number = number * 10 + Int(text[i] - 0x30)
            i += 1
        }
        return spanishEnd(text, i, number)
    }

    /// National Insurance number: two letters that are issued, six digits, and A to D. Single spaces can separate pairs.
    static func insuranceEnd(_ text: Subject, _ start: Int) -> Int? {
        guard isInsurancePrefix(text[start], text[start + 1]) else { return nil }
        var i = start + 2
        for n in 0..<6 {
            if n % 2 == 0, text[i] == UInt8(ascii: " ") { i += 1 }
            guard text.isDigit(i) else { return nil }
            i += 1
        }
        if text[i] == UInt8(ascii: " ") { i += 1 }
        return (UInt8(ascii: "A")...UInt8(ascii: "D")).contains(text[i]) ? ends(text, i + 1) : nil
    }

    private static func isInsurancePrefix(_ first: UInt8, _ second: UInt8) -> Bool {
        guard isUpper(first), isUpper(second) else { return false }
        switch (first, second) {
        case (UInt8(ascii: "D"), _), (UInt8(ascii: "F"), _), (UInt8(ascii: "I"), _), (UInt8(ascii: "Q"), _), (UInt8(ascii: "U"), _),
            (UInt8(ascii: "V"), _):
            return false
        case (_, UInt8(ascii: "D")), (_, UInt8(ascii: "F")), (_, UInt8(ascii: "I")), (_, UInt8(ascii: "O")), (_, UInt8(ascii: "Q")),
            (_, UInt8(ascii: "U")), (_, UInt8(ascii: "V")):
            return false
        default: break
        }
        let unused: StaticString = "BGGBKNNKNTTNZZ"
        var i = 0
        while i < unused.utf8CodeUnitCount {
            if unused.utf8Start[i] == first, unused.utf8Start[i + 1] == second { return false }
            i += 2
        }
        return true
    }

    private static func isUpper(_ c: UInt8) -> Bool { c &- 0x41 < 26 }

    /// Codice fiscale: 16 letters and digits in their places, of which the last one is the check character. Letters can stand for digits.
    static func fiscalCodeEnd(_ text: Subject, _ start: Int) -> Int? {
        let pattern: StaticString = "LLLLLLddLddLdddL"
        var sum = 0
        for i in 0..<16 {
            let c = text[start + i]
            let isLetter = Byte.isLetter(c)
            if pattern.utf8Start[i] == UInt8(ascii: "L") {
                guard isLetter else { return nil }
            } else {
                guard Byte.isDigit(c) || isLetter && isReplacement(c & 0xdf) else { return nil }
            }
            if i == 15 { return Int((c & 0xdf) - 0x41) == sum % 26 ? ends(text, start + 16) : nil }
            let value = Int(isLetter ? (c & 0xdf) - 0x41 : c - 0x30)
            sum += i % 2 == 0 ? odd(value) : value
        }
        return nil
    }

    /// Letters that replace a digit where two people would have the same code.
    private static func isReplacement(_ c: UInt8) -> Bool {
        let letters: StaticString = "LMNPQRSTUV"
        for i in 0..<letters.utf8CodeUnitCount where letters.utf8Start[i] == c { return true }
        return false
    }

    /// The value of a character at an odd place, counted from 1. A digit has the value of the letter with its number.
    private static func odd(_ value: Int) -> Int {
        let values: StaticString = "0100050709131517192102041820110306081214161022252423"
        let at = values.utf8Start + value * 2
        return Int(at[0] - 0x30) * 10 + Int(at[1] - 0x30)
    }
}
