// Anchored extended regular expressions (POSIX), as module descriptions use them. They match bytes, without a locale.

internal import Document
internal import Glibc

enum Pattern {
    static let longest = 256

    /// Returns what the text must be, or nil if it is a valid pattern.
    static func fault(_ text: String) -> String? {
        if text.utf8.count > longest { return "a pattern of at most \(longest) bytes" }
        if mostRepeats(text.utf8) > 1000 { return "a pattern that repeats at most 1000 times, nested repeats multiplied" }
        var expression = regex_t()
        let status = regcomp(&expression, text, REG_EXTENDED | REG_NOSUB)
        guard status != 0 else {
            regfree(&expression)
            return nil
        }
        return "a POSIX extended regular expression (\(words(status)))"
    }

    static func matches(_ pattern: String, _ text: String) -> Bool {
        // regexec would stop at a NUL and match only the text before it.
        if text.utf8.contains(0) { return false }
        var expression = regex_t()
        guard regcomp(&expression, "^(\(pattern))$", REG_EXTENDED | REG_NOSUB) == 0 else { return false }
        defer { regfree(&expression) }
        return regexec(&expression, text, 0, nil, 0) == 0
    }

    /// Returns the product of the bounds in braces: the library would expand so many copies in memory.
    private static func mostRepeats(_ text: String.UTF8View) -> Int {
        var product = 1
        var number: Int?
        for byte in text {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: ","): number = 0
            case _ where Lexer.isDigit(byte): number = number.map { min($0 * 10 + Int(byte - UInt8(ascii: "0")), 100_000) }
            case UInt8(ascii: "}"):
                product = min(product * max(1, number ?? 1), 1_000_000)
                number = nil
            default: number = nil
            }
        }
        return product
    }

    private static func words(_ status: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            _ = regerror(status, nil, buffer.baseAddress, buffer.count)
            return String(cString: buffer.baseAddress!)
        }
    }
}
