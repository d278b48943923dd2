// Detects a telephone number as people write it: with a plus, in groups that are usual somewhere, as ten or eleven digits that begin with
// one 0, as the eleven digits of a mobile phone in China, or as any digits after a word such as `phone`. An extension belongs to it. Other digits without groups are not one, since they
// cannot be distinguished from an id.

enum Phone {
    static func end(_ text: Subject, _ start: Int, _ around: Surroundings) -> Int? {
        var number = PhoneNumber()
        var i = start
        var isOpen = text[i] == UInt8(ascii: "(")
        if isOpen {
            number.add(.bracket)
            i += 1
        }
        if text[i] == UInt8(ascii: "+") {
            number.hasPlus = true
            i += 1
        } else if text.isJoinedBefore(start, by: isTight) {
            return nil
        }
        guard text.isDigit(i) else { return nil }
        // The ends of the longest number that is one by its form, and of the longest one that a word must announce.
        var end: Int?
        var possible: Int?
        while number.readGroup(text, &i) {
            var isClosed = false
            if isOpen, text[i] == UInt8(ascii: ")") {
                i += 1
                isOpen = false
                isClosed = true
            }
            if !isOpen, let last = numberEnd(text, i, hasPlus: number.hasPlus) {
                if number.isPhone { end = last } else if number.canBePhone { possible = last }
            }
            let groupEnd = i
            if let mark = mark(text, i) {
                number.add(mark)
                i += 1
            }
            if !isOpen, text[i] == UInt8(ascii: "(") {
                number.add(.bracket)
                i += 1
                isOpen = true
            }
            guard i > groupEnd || isClosed, text.isDigit(i) else { break }
        }
        if number.hasPlus { return end }
        if end == nil, possible == nil { return nil }
        return announced(text, start, around, end: end, possible: possible)
    }

    /// Decides by the words before the number. After a word for a telephone every possible number is one. A number of an order, and one
    /// after letters and a hyphen, are none.
    private static func announced(_ text: Subject, _ start: Int, _ around: Surroundings, end: Int?, possible: Int?) -> Int? {
        if around.announce(.phone, text, before: start) { return max(end ?? 0, possible ?? 0) }
        guard let end, !(text[start - 1] == UInt8(ascii: "-") && text.isAlphanumeric(start - 2)) else { return nil }
        return around.announce(.order, text, before: start) ? nil : end
    }

    /// Returns true for the marks that join digits to a date, a time, a version or an id.
    private static func isTight(_ c: UInt8) -> Bool {
        Byte.isHyphenOrDot(c) || c == UInt8(ascii: "/") || c == UInt8(ascii: ":")
    }

    /// The mark between two groups. A plus represents a space in a URL.
    private static func mark(_ text: Subject, _ i: Int) -> PhoneNumber.Mark? {
        switch text[i] {
        case UInt8(ascii: " "): .space
        case UInt8(ascii: "+"): text.isDigit(i + 1) || text[i + 1] == UInt8(ascii: "(") ? .space : nil
        case UInt8(ascii: "-"): .hyphen
        case UInt8(ascii: "."), UInt8(ascii: "/"): .other
        default: nil
        }
    }

    /// Returns the end of a number whose digits end at i, with its extension. It is nil if the digits belong to something longer.
    private static func numberEnd(_ text: Subject, _ i: Int, hasPlus: Bool) -> Int? {
        if let end = extensionEnd(text, i) { return end }
        let goesOn = hasPlus ? text.isDigit(i) : text.goesOn(i, by: isTight)
        return goesOn ? nil : i
    }

    /// Returns the end of an extension: `x`, `ext` or `ext.`, a space or none before and after it, and one to six digits.
    private static func extensionEnd(_ text: Subject, _ from: Int) -> Int? {
        var i = text[from] == UInt8(ascii: " ") ? from + 1 : from
        if text[i] | 0x20 == UInt8(ascii: "e"), text[i + 1] | 0x20 == UInt8(ascii: "x"), text[i + 2] | 0x20 == UInt8(ascii: "t") {
            i += 3
            if Byte.isDot(text[i]) { i += 1 }
        } else if text[i] | 0x20 == UInt8(ascii: "x") {
            i += 1
        } else {
            return nil
        }
        if text[i] == UInt8(ascii: " ") { i += 1 }
        let digits = i
        while text.isDigit(i), i - digits <= 6 { i += 1 }
        return (1...6).contains(i - digits) && !text.isAlphanumeric(i) ? i : nil
    }
}
