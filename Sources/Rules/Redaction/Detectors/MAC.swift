// Detects the address of a network interface (MAC): six pairs of hexadecimal digits with colons or hyphens, or three groups of four with
// dots. With hyphens it holds a letter, since otherwise it could be a time. With dots it holds a letter or begins with no century.

enum MAC {
    static func end(_ text: Subject, _ start: Int) -> Int? {
        let mark = text[start + 2]
        if mark == UInt8(ascii: ":") || mark == UInt8(ascii: "-") { return end(text, start, mark: mark, groups: 6, width: 2) }
        return text[start + 4] == UInt8(ascii: ".") ? end(text, start, mark: text[start + 4], groups: 3, width: 4) : nil
    }

    private static func end(_ text: Subject, _ start: Int, mark: UInt8, groups: Int, width: Int) -> Int? {
        if text[start - 1] == mark, Byte.isHex(text[start - 2]) { return nil }
        var hasLetter = false
        var i = start
        for group in 0..<groups {
            if group > 0 {
                guard text[i] == mark else { return nil }
                i += 1
            }
            for _ in 0..<width {
                guard Byte.isHex(text[i]) else { return nil }
                if !text.isDigit(i) { hasLetter = true }
                i += 1
            }
        }
        if text.isAlphanumeric(i) || text[i] == mark && Byte.isHex(text[i + 1]) { return nil }
        if hasLetter || mark == UInt8(ascii: ":") { return i }
        let isCentury = text[start] == UInt8(ascii: "2") && text[start + 1] == UInt8(ascii: "0")
        return mark == UInt8(ascii: "-") || isCentury ? nil : i
    }
}
