// Checks the syntax of a file with jansson, and turns jansson's errors into helpful messages. Numbers are masked before jansson reads them:
// it would refuse numbers that no machine number holds, but a constant of thirty digits must be sent as it was written.

internal import CJansson

public enum Syntax {
    public static let largest = 16_000_000
    public static let deepest = 128
    /// The most keys and values of a file.
    public static let most = 1_000_000

    /// Throws unless the text is one JSON value within the bounds that make recursion safe.
    public static func check(_ source: Source) throws(LocatedFault) {
        let bytes = source.bytes
        guard bytes.count <= largest else { throw LocatedFault(offset: 0, message: "larger than 16MB") }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw LocatedFault(offset: 0, message: "begins with a byte order mark, expected UTF-8 without one")
        }
        // jansson takes a NUL byte for the end of the text, or skips it behind a number.
        if let offset = bytes.firstIndex(of: 0) {
            throw LocatedFault(offset: offset, message: "unexpected NUL byte, expected the escape \\u0000 in a string, and none elsewhere")
        }
        var masked = bytes
        var lexer = Lexer(bytes)
        var depth = 0
        var count = 0
        while let token = lexer.next() {
            if [.open, .string, .number, .word].contains(token.kind) { count += 1 }
            guard count <= most else { throw LocatedFault(offset: token.range.lowerBound, message: "more than \(most) keys and values") }
            switch token.kind {
            case .open:
                depth += 1
                guard depth <= deepest else {
                    throw LocatedFault(offset: token.range.lowerBound, message: "nested more than \(deepest) deep")
                }
            case .close: depth -= 1
            case .number where Lexer.isNumber(bytes[token.range]):
                for offset in token.range { masked[offset] = UInt8(ascii: " ") }
                masked[token.range.lowerBound] = UInt8(ascii: "0")
            default: break
            }
        }
        guard !bytes.allSatisfy(Lexer.isSpace) else { throw LocatedFault(offset: 0, message: "empty, expected an object") }

        var error = json_error_t()
        let value = masked.withUnsafeBytes { raw in
            json_loadb(raw.baseAddress, raw.count, Int(JSON_DECODE_ANY | JSON_ALLOW_NUL), &error)
        }
        guard let value else { throw fault(error, in: source) }
        json_decref(value)
    }

    /// Returns the value of a string token, which includes its quotes. `check` must have accepted the text.
    static func decode(_ token: ArraySlice<UInt8>) -> String {
        assert(token.count >= 2 && token.first == UInt8(ascii: "\"") && token.last == UInt8(ascii: "\""), "a string has no quotes")
        let inner = token.dropFirst().dropLast()
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        let value = token.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, Int(JSON_DECODE_ANY | JSON_ALLOW_NUL), nil) }
        defer { json_decref(value) }
        guard let value, let start = json_string_value(value) else { preconditionFailure("jansson refuses a string it has accepted") }
        let bytes = UnsafeRawBufferPointer(start: start, count: json_string_length(value))
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - Messages

    private static func fault(_ error: json_error_t, in source: Source) -> LocatedFault {
        let (words, isAtEnd) = words(of: error)
        let position = min(max(0, Int(error.position)), source.bytes.count)
        if isAtEnd { return LocatedFault(offset: source.bytes.count, message: "the file ends here, \(expected(words))") }
        if words.hasPrefix("unable to decode") { return LocatedFault(offset: position, message: "\(words), expected UTF-8") }
        if words.hasPrefix("control character") {
            return LocatedFault(offset: position, message: "\(words) in a string, expected an escape such as \\n or \\u0009")
        }
        if words == "invalid escape" {
            return LocatedFault(
                offset: max(0, position - 1), message: #"invalid escape, expected \" \\ \/ \b \f \n \r \t or \u and four digits"#)
        }
        // jansson reports how far it has read, but people look for the beginning of the token.
        var lexer = Lexer(source.bytes)
        var before: Token?
        var token: Token?
        while let next = lexer.next(), next.range.lowerBound < max(1, position) { (before, token) = (token, next) }
        guard let token else { return LocatedFault(offset: position, message: words) }
        let start = token.range.lowerBound
        if words == "unexpected newline" || words == "premature end of input" {
            return LocatedFault(offset: start, message: "the string does not end, expected a closing quote on its line")
        }
        if words.hasPrefix("invalid Unicode") {
            return LocatedFault(offset: start, message: "\(words), expected both halves of a surrogate pair")
        }
        if words.hasPrefix("NUL byte") { return LocatedFault(offset: start, message: "a key holds a NUL byte") }
        let near = Words.shortened(source.text(token.range), 40)
        if before?.kind == .comma, token.kind == .close {
            let wanted = words == "string or '}' expected" ? "a key in double quotes" : "a value"
            return LocatedFault(offset: start, message: "unexpected \(near) after a comma, expected \(wanted), or no comma")
        }
        return LocatedFault(offset: start, message: "unexpected \(near), \(expected(words))" + hint(token, in: source))
    }

    /// Returns jansson's message without its quote of the text nearby. `isAtEnd` is true if jansson found the end of the file there.
    private static func words(of error: json_error_t) -> (String, isAtEnd: Bool) {
        let text = withUnsafeBytes(of: error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let bytes = Array(text.utf8)
        let near = Array(" near ".utf8)
        guard bytes.count > near.count else { return (text, false) }
        for start in 0...(bytes.count - near.count) where bytes[start..<start + near.count].elementsEqual(near) {
            return (String(decoding: bytes[..<start], as: UTF8.self), text.hasSuffix("near end of file"))
        }
        return (text, false)
    }

    private static func expected(_ words: String) -> String {
        switch words {
        case "'}' expected": "expected ',' or '}'"
        case "']' expected": "expected ',' or ']'"
        case "':' expected": "expected ':'"
        case "string or '}' expected": "expected a key in double quotes or '}'"
        case "end of file expected": "expected the end of the file"
        case "unexpected token", "invalid token": "expected a value"
        default: words
        }
    }

    private static func hint(_ token: Token, in source: Source) -> String {
        let first = source.bytes[token.range.lowerBound]
        if first == UInt8(ascii: "/") || first == UInt8(ascii: "#") { return "; JSON has no comments" }
        if first == UInt8(ascii: "'") { return "; JSON uses double quotes" }
        return ""
    }
}
