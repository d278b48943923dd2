// Detects an IP address: four decimal parts, or IPv6 as RFC 4291 writes it. An IPv6 address must hold a decimal digit, so that `A::b` in
// a program's text is not one. A port, a prefix length or a zone after the address is not part of the find. Four parts that are a version,
// as in `Chrome/108.0.0.0`, are not an address.

enum Address {
    static func end(_ text: Subject, _ start: Int, hasColons: Bool, _ around: Surroundings) -> Int? {
        if hasColons, let end = end6(text, start) { return end }
        return text.isDigit(start) ? end4(text, start, around) : nil
    }

    private static func end4(_ text: Subject, _ start: Int, _ around: Surroundings) -> Int? {
        guard !text.isJoinedBefore(start, by: Byte.isDot), let end = parts(text, start), !text.goesOn(end, by: Byte.isDot) else {
            return nil
        }
        return isOfProduct(text, start) || around.announce(.version, text, before: start) ? nil : end
    }

    /// Returns true if the name of a product and a slash precede the parts, as in the header User-Agent. The name begins with a capital
    /// letter, and follows a space, a bracket, a semicolon, a comma or nothing.
    private static func isOfProduct(_ text: Subject, _ start: Int) -> Bool {
        guard text[start - 1] == UInt8(ascii: "/") else { return false }
        var i = start - 1
        while Byte.isBase64(text[i - 1]) { i -= 1 }
        guard text[i] &- 0x41 < 26 else { return false }
        switch text[i - 1] {
        case 0, UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: ";"), UInt8(ascii: ","): return true
        default: return false
        }
    }

    /// Returns the end of four decimal parts without leading zeros. Anything except a digit can follow. It is nil if there are none.
    private static func parts(_ text: Subject, _ start: Int) -> Int? {
        var i = start
        for part in 0..<4 {
            if part > 0 {
                guard text[i] == UInt8(ascii: ".") else { return nil }
                i += 1
            }
            guard text.isDigit(i) else { return nil }
            var value = Int(text[i] - 0x30)
            i += 1
            while value > 0, value < 256, text.isDigit(i) {
                value = value * 10 + Int(text[i] - 0x30)
                i += 1
            }
            guard value < 256, !text.isDigit(i) else { return nil }
        }
        return i
    }

    /// The greatest length of an address.
    private static let longest = 45

    private static func end6(_ text: Subject, _ start: Int) -> Int? {
        guard begins6(text, start) else { return nil }
        var end = start
        var hasDigit = false
        while isPart(text[end]) {
            if text.isDigit(end) { hasDigit = true }
            end += 1
            if end - start > longest + 1 { return nil }
        }
        // A dot or a colon at the end of a sentence or a clause is not part of the address.
        if text[end - 1] == UInt8(ascii: ".") || text[end - 1] == UInt8(ascii: ":") && text[end - 2] != UInt8(ascii: ":") { end -= 1 }
        guard hasDigit, end - start <= longest, !text.isAlphanumeric(end) else { return nil }
        return isAddress(text, start: start, end: end) ? end : nil
    }

    private static func isPart(_ c: UInt8) -> Bool { Byte.isHex(c) || c == UInt8(ascii: ":") || c == UInt8(ascii: ".") }

    /// Returns true if an address can begin here. After a colon it can only if the word before the colon is not a group itself, as in
    /// `ip:2001:db8::1`.
    private static func begins6(_ text: Subject, _ start: Int) -> Bool {
        if text[start] == UInt8(ascii: ":"), text[start + 1] != UInt8(ascii: ":") { return false }
        guard text[start - 1] == UInt8(ascii: ":") else { return true }
        var i = start - 2
        while text.isAlphanumeric(i) {
            if !Byte.isHex(text[i]) { return true }
            i -= 1
        }
        return false
    }

    private static func isAddress(_ text: Subject, start: Int, end: Int) -> Bool {
        var groups = 0
        var isShortened = false
        var i = start
        if text[i] == UInt8(ascii: ":") {
            isShortened = true
            i += 2
        }
        while i < end {
            let group = i
            while i < end, Byte.isHex(text[i]) { i += 1 }
            if i < end, text[i] == UInt8(ascii: ".") {
                guard parts(text, group) == end else { return false }
                groups += 2
                break
            }
            guard (1...4).contains(i - group) else { return false }
            groups += 1
            if i == end { break }
            i += 1
            if i == end { return false }
            if text[i] == UInt8(ascii: ":") {
                guard !isShortened else { return false }
                isShortened = true
                i += 1
            }
        }
        return isShortened ? groups <= 7 : groups == 8
    }
}
