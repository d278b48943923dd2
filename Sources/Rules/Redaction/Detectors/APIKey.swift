// Detects a key of a program: one with a prefix that its service has published, a private key in PEM, or a long random text after a word
// such as `api_key` or `password`.

enum APIKey {
    /// Returns the end of a key with a published prefix, or of a private key.
    @inline(__always) static func end(_ text: Subject, _ start: Int) -> Int? {
        canBegin(text, start, text[start]) ? knownEnd(text, start) : nil
    }

    /// Returns the end of a random text that follows a word for a secret.
    @inline(__always) static func secretEnd(_ text: Subject, _ start: Int, _ around: Surroundings) -> Int? {
        canFollowSecret(text, start, around) ? randomEnd(text, start, around) : nil
    }

    // MARK: - Published prefixes

    /// Returns true if a prefix, or `BEGIN`, can begin here, by the first three characters.
    @inline(__always) private static func canBegin(_ text: Subject, _ start: Int, _ first: UInt8) -> Bool {
        let (second, third) = (text[start + 1], text[start + 2])
        return switch first {
        case UInt8(ascii: "A"): (third == UInt8(ascii: "I") || third == UInt8(ascii: "z")) && second < 0x5b
        case UInt8(ascii: "B"): second == UInt8(ascii: "E") && third == UInt8(ascii: "G")
        case UInt8(ascii: "S"): second == UInt8(ascii: "G") && third == UInt8(ascii: ".")
        case UInt8(ascii: "d"): second == UInt8(ascii: "o") && third == UInt8(ascii: "p")
        case UInt8(ascii: "g"): second == UInt8(ascii: "h") || third == UInt8(ascii: "p") || third == UInt8(ascii: "t")
        case UInt8(ascii: "h"), UInt8(ascii: "r"): third == UInt8(ascii: "_")
        case UInt8(ascii: "n"): second == UInt8(ascii: "p") && third == UInt8(ascii: "m")
        case UInt8(ascii: "p"): second == UInt8(ascii: "y") && third == UInt8(ascii: "p")
        case UInt8(ascii: "s"): second == UInt8(ascii: "k") || second == UInt8(ascii: "q") || third == UInt8(ascii: "p")
        case UInt8(ascii: "w"): second == UInt8(ascii: "h") && third == UInt8(ascii: "s")
        case UInt8(ascii: "x"): second == UInt8(ascii: "o") && third == UInt8(ascii: "x")
        case UInt8(ascii: "y"): second == UInt8(ascii: "a") && third == UInt8(ascii: "2")
        default: false
        }
    }

    /// The prefixes, each with the least number of characters that follow, as two digits after a colon.
    private static var prefixes: StaticString {
        """
        AKIA:16 ASIA:16 ghp_:36 gho_:36 ghu_:36 ghs_:36 ghr_:36 github_pat_:22 glpat-:20 sk_live_:16 sk_test_:16 rk_live_:16 \
        rk_test_:16 whsec_:24 xoxb-:20 xoxa-:20 xoxp-:20 xoxr-:20 xoxs-:20 AIza:35 ya29.:20 SG.:60 npm_:36 pypi-:40 sk-proj-:20 \
        sk-ant-:20 hf_:30 dop_v1_:64 shpat_:32 shpss_:32 sq0csp-:40
        """
    }

    @inline(never) private static func knownEnd(_ text: Subject, _ start: Int) -> Int? {
        if Byte.isBase64(text[start - 1]) && text[start - 1] != UInt8(ascii: "-") { return nil }
        if let end = privateKeyEnd(text, start) { return end }
        var i = 0
        while i < prefixes.utf8CodeUnitCount {
            var length = 0
            while prefixes.utf8Start[i + length] != UInt8(ascii: ":") { length += 1 }
            let digits = prefixes.utf8Start + i + length + 1
            if holds(text, start, prefixes.utf8Start + i, length) {
                let least = Int(digits[0] - 0x30) * 10 + Int(digits[1] - 0x30)
                return runEnd(text, start + length, atLeast: least)
            }
            i += length + 4
        }
        return nil
    }

    private static func runEnd(_ text: Subject, _ from: Int, atLeast least: Int) -> Int? {
        var i = from
        while Byte.isBase64(text[i]) || Byte.isDot(text[i]) && Byte.isBase64(text[i + 1]) { i += 1 }
        return i - from >= least ? i : nil
    }

    private static func holds(_ text: Subject, _ start: Int, _ word: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        for n in 0..<length where text[start + n] != word[n] { return false }
        return true
    }

    private static func holds(_ text: Subject, _ start: Int, _ word: StaticString) -> Bool {
        holds(text, start, word.utf8Start, word.utf8CodeUnitCount)
    }

    /// Returns the end of a private key that begins with `BEGIN`. If its last line is missing, the key goes on to the end of the text.
    private static func privateKeyEnd(_ text: Subject, _ start: Int) -> Int? {
        guard holds(text, start, "BEGIN "), holds(text, start - 5, "-----") else { return nil }
        var i = start + 6
        while Byte.isAlphanumeric(text[i]) || text[i] == 0x20 { i += 1 }
        guard holds(text, i, "-----"), holds(text, i - 11, "PRIVATE KEY") || holds(text, i - 17, "PRIVATE KEY BLOCK") else { return nil }
        while i < text.count {
            if text[i] == UInt8(ascii: "-"), holds(text, i, "-----END ") {
                i += 9
                while Byte.isAlphanumeric(text[i]) || text[i] == 0x20 { i += 1 }
                return holds(text, i, "-----") ? i + 5 : i
            }
            i += 1
        }
        return text.count
    }

    // MARK: - Random texts

    private static let leastSecret = 20
    private static let leastDifferent = 10

    /// Returns the end of a text of 20 or more characters with letters and digits, ten of them different, that follows a word for a secret.
    @inline(never) private static func randomEnd(_ text: Subject, _ start: Int, _ around: Surroundings) -> Int? {
        var i = start
        var (low, high): (UInt64, UInt64) = (0, 0)
        var (hasLetter, hasDigit) = (false, false)
        // Most texts end before the least length.
        while i - start < leastSecret, isSecretCharacter(text[i]) { i += 1 }
        guard i - start == leastSecret else { return nil }
        i = start
        while isSecretCharacter(text[i]) {
            if text[i] < 64 { low |= 1 << UInt64(text[i]) } else { high |= 1 << UInt64(text[i] - 64) }
            if Byte.isLetter(text[i]) { hasLetter = true } else if text.isDigit(i) { hasDigit = true }
            i += 1
        }
        guard hasLetter, hasDigit, low.nonzeroBitCount + high.nonzeroBitCount >= leastDifferent,
            around.announceSecret(text, before: start)
        else { return nil }
        return text[i - 1] == UInt8(ascii: ".") ? i - 1 : i
    }

    /// Returns true if the text can follow a word for a secret: after a sign that separates a name from its value, and the last letters of
    /// such a word, or at the start of the text.
    @inline(__always) private static func canFollowSecret(_ text: Subject, _ start: Int, _ around: Surroundings) -> Bool {
        if start == 0 { return around.keyEnds(isEndOfSecret) }
        switch text[start - 1] {
        case UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "/"): break
        default: return false
        }
        var i = start - 1
        while i > 0, start - i < 4, !text.isAlphanumeric(i - 1) { i -= 1 }
        // Before signs alone, the key of the member counts.
        return i == 0 || isEndOfSecret(text[i - 2], text[i - 1])
    }

    /// The last two letters of the words for a secret, and of `key`.
    @inline(__always) static func isEndOfSecret(_ first: UInt8, _ last: UInt8) -> Bool {
        switch (first | 0x20, last | 0x20) {
        case (UInt8(ascii: "e"), UInt8(ascii: "y")), (UInt8(ascii: "e"), UInt8(ascii: "t")), (UInt8(ascii: "r"), UInt8(ascii: "d")),
            (UInt8(ascii: "w"), UInt8(ascii: "d")), (UInt8(ascii: "s"), UInt8(ascii: "e")), (UInt8(ascii: "e"), UInt8(ascii: "n")),
            (UInt8(ascii: "a"), UInt8(ascii: "l")), (UInt8(ascii: "l"), UInt8(ascii: "s")):
            true
        default: false
        }
    }

    static func isSecretCharacter(_ c: UInt8) -> Bool {
        Byte.isBase64(c) || Byte.isDot(c) || c == UInt8(ascii: "+") || c == UInt8(ascii: "/") || c == UInt8(ascii: "=")
            || c == UInt8(ascii: "~")
    }
}
