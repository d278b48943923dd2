// Detects a credential: a JSON Web Token, which begins like the Base64 of `{"`, or the word `Bearer` and the token after it.

enum Token {
    static func end(_ text: Subject, _ start: Int) -> Int? {
        switch text[start] {
        case UInt8(ascii: "e"): webTokenEnd(text, start)
        case UInt8(ascii: "b"), UInt8(ascii: "B"): bearerEnd(text, start)
        default: nil
        }
    }

    /// Returns the end of a web token: ten or more characters, a dot, ten or more, a dot, and the rest. The rest is a signature, or the
    /// other parts of an encrypted token.
    private static func webTokenEnd(_ text: Subject, _ start: Int) -> Int? {
        guard text[start + 1] == UInt8(ascii: "y"), text[start + 2] == UInt8(ascii: "J"), !Byte.isBase64(text[start - 1])
        else { return nil }
        var i = start
        for _ in 0..<2 {
            let part = i
            while Byte.isBase64(text[i]) { i += 1 }
            guard i - part >= 10, text[i] == UInt8(ascii: ".") else { return nil }
            i += 1
        }
        while Byte.isBase64(text[i]) || text[i] == UInt8(ascii: ".") { i += 1 }
        return i
    }

    /// Returns the end of the word, blanks and a token. The token has at least 8 characters with a digit among them, or at least 32.
    private static func bearerEnd(_ text: Subject, _ start: Int) -> Int? {
        var i = start
        for n in 0..<word.utf8CodeUnitCount {
            guard text[i] | 0x20 == word.utf8Start[n] else { return nil }
            i += 1
        }
        let blanks = i
        while blank(text, i) > 0 { i += blank(text, i) }
        guard i > blanks else { return nil }
        let token = i
        var hasDigit = false
        while isTokenCharacter(text[i]) {
            if text.isDigit(i) { hasDigit = true }
            i += 1
        }
        guard i - token >= (hasDigit ? 8 : 32) else { return nil }
        while text[i] == UInt8(ascii: "=") { i += 1 }
        return i
    }

    private static var word: StaticString { "bearer" }

    /// Returns the length of a blank, also of one in a URL (`+` or `%20`). It is 0 if there is none.
    private static func blank(_ text: Subject, _ i: Int) -> Int {
        switch text[i] {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "+"): 1
        case UInt8(ascii: "%"): text[i + 1] == UInt8(ascii: "2") && text[i + 2] == UInt8(ascii: "0") ? 3 : 0
        default: 0
        }
    }

    private static func isTokenCharacter(_ c: UInt8) -> Bool {
        switch c {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: Byte.isAlphanumeric(c)
        }
    }
}
