// Detects an e-mail address: a local part, `@` or `%40`, and a domain of two or more labels whose last label is a top-level domain.

enum Email {
    /// Returns the end of the address that begins at `start`. It is nil if there is none.
    static func end(_ text: Subject, _ start: Int) -> Int? {
        guard isFirst(text, start) else { return nil }
        var i = start
        while at(text, i) == 0 {
            let n = local(text, i)
            if n == 0 { return nil }
            i += n
        }
        return domainEnd(text, i + at(text, i))
    }

    /// Returns true if `start` is the first letter, digit or `_` in a run of characters of a local part. Marks before it do not count.
    private static func isFirst(_ text: Subject, _ start: Int) -> Bool {
        guard word(text, start) > 0 else { return false }
        var i = start - 1
        while i >= 0 {
            let c = text[i]
            if Byte.isAlphanumeric(c) || c == UInt8(ascii: "_") { return false }
            if c & 0xc0 == 0x80, text.wideLetter(i - 1) > 0 { return false }
            guard isMark(c) else { return true }
            i -= 1
        }
        return true
    }

    private static func at(_ text: Subject, _ i: Int) -> Int {
        if text[i] == UInt8(ascii: "@") { return 1 }
        return text[i] == UInt8(ascii: "%") && text[i + 1] == UInt8(ascii: "4") && text[i + 2] == UInt8(ascii: "0") ? 3 : 0
    }

    private static func word(_ text: Subject, _ i: Int) -> Int {
        Byte.isAlphanumeric(text[i]) || text[i] == UInt8(ascii: "_") ? 1 : text.wideLetter(i)
    }

    private static func local(_ text: Subject, _ i: Int) -> Int { isMark(text[i]) ? 1 : word(text, i) }

    private static func isMark(_ c: UInt8) -> Bool {
        switch c {
        case UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "'"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Returns the end of the last top-level domain that follows a dot of the domain. It is nil if there is none.
    private static func domainEnd(_ text: Subject, _ start: Int) -> Int? {
        var end: Int?
        var i = start
        while true {
            let label = i
            while true {
                let n = text[i] == UInt8(ascii: "-") ? 1 : word(text, i)
                if n == 0 { break }
                i += n
            }
            if i == label { return end }
            if label > start, let last = topLevelEnd(text, start: label, labelEnd: i) { end = last }
            guard text[i] == UInt8(ascii: ".") else { return end }
            i += 1
        }
    }

    /// Returns the end of a top-level domain: two or more letters, or a name in Punycode. It is nil if the label does not begin with one.
    private static func topLevelEnd(_ text: Subject, start: Int, labelEnd: Int) -> Int? {
        if labelEnd - start > 4, text[start] | 0x20 == UInt8(ascii: "x"), text[start + 1] | 0x20 == UInt8(ascii: "n"),
            text[start + 2] == UInt8(ascii: "-"), text[start + 3] == UInt8(ascii: "-")
        {
            return labelEnd
        }
        var i = start
        var letters = 0
        while i < labelEnd {
            let n = Byte.isLetter(text[i]) ? 1 : text.wideLetter(i)
            if n == 0 { break }
            i += n
            letters += 1
        }
        return letters >= 2 ? i : nil
    }
}
