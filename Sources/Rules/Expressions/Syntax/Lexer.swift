// Splits the text of an expression into tokens, by the grammar of CEL. It decodes the literals of strings and bytes. A fault says where
// the text is wrong.

struct Lexer {
    private let text: [UInt8]
    private var at = 0

    init(_ text: [UInt8]) { self.text = text }

    static let reserved: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace",
        "return", "var", "void", "while",
    ]

    private func byte(_ ahead: Int = 0) -> UInt8 { at + ahead < text.count ? text[at + ahead] : 0 }
    private var isAtEnd: Bool { at >= text.count }

    mutating func next() throws(ExpressionFault) -> Token {
        skipBlanks()
        let start = at
        if isAtEnd { return Token(kind: .end, text: "", offset: start, end: start) }
        let c = byte()
        if let literal = try quoted() { return literal }
        if isNameStart(c) {
            while isNamePart(byte()) { at += 1 }
            let name = word(start)
            return Token(kind: Lexer.reserved.contains(name) ? .reserved : .name, text: name, offset: start, end: at)
        }
        if c == UInt8(ascii: "`") { return try quotedName() }
        if isDigit(c) || c == UInt8(ascii: ".") && isDigit(byte(1)) { return try number() }
        for sign in ["&&", "||", "==", "!=", "<=", ">="] where sign.utf8.elementsEqual(text[at..<min(at + 2, text.count)]) {
            at += 2
            return Token(kind: .sign, text: sign, offset: start, end: at)
        }
        if "+-*/%!<>?:.,()[]{}".utf8.contains(c) {
            at += 1
            return Token(kind: .sign, text: word(start), offset: start, end: at)
        }
        switch c {
        case UInt8(ascii: "="): throw ExpressionFault("found '='; equality is written ==", at: start)
        case UInt8(ascii: "&"): throw ExpressionFault("found '&'; 'and' is written &&", at: start)
        case UInt8(ascii: "|"): throw ExpressionFault("found '|'; 'or' is written ||", at: start)
        default: throw ExpressionFault("found \(shown(start)), which is allowed only inside quotes", at: start)
        }
    }

    private mutating func skipBlanks() {
        while !isAtEnd {
            switch byte() {
            case 0x20, 0x09, 0x0a, 0x0c, 0x0d: at += 1
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
                while !isAtEnd, byte() != 0x0a { at += 1 }
            default: return
            }
        }
    }

    private func word(_ start: Int) -> String { String(decoding: text[start..<at], as: UTF8.self) }

    private func shown(_ i: Int) -> String {
        let character = String(decoding: text[i...].prefix(4), as: UTF8.self).unicodeScalars.first ?? " "
        if character.value < 0x20 || character.value == 0x7f { return "a control character" }
        return "'\(character)'"
    }

    private mutating func quotedName() throws(ExpressionFault) -> Token {
        let start = at
        at += 1
        while !isAtEnd, byte() != UInt8(ascii: "`") {
            guard isNamePart(byte()) || "-./ ".utf8.contains(byte()) else {
                throw ExpressionFault("a key in backquotes can have only letters, digits, spaces and _ - . /; write [\"…\"]", at: at)
            }
            at += 1
        }
        guard !isAtEnd else { throw ExpressionFault("this backquote is not closed", at: start) }
        let name = String(decoding: text[(start + 1)..<at], as: UTF8.self)
        guard !name.isEmpty else { throw ExpressionFault("a key in backquotes must not be empty", at: start) }
        at += 1
        return Token(kind: .quotedName, text: name, offset: start, end: at)
    }

    private mutating func number() throws(ExpressionFault) -> Token {
        let start = at
        if byte() == UInt8(ascii: "0"), byte(1) | 0x20 == UInt8(ascii: "x") {
            at += 2
            let digits = at
            while hexValue(byte()) != nil { at += 1 }
            guard at > digits else { throw ExpressionFault("expected hexadecimal digits after 0x", at: at) }
            return try finish(start, .int)
        }
        while isDigit(byte()) { at += 1 }
        var kind = TokenKind.int
        if byte() == UInt8(ascii: "."), isDigit(byte(1)) {
            kind = .double
            at += 1
            while isDigit(byte()) { at += 1 }
        }
        if byte() | 0x20 == UInt8(ascii: "e") {
            kind = .double
            at += 1
            if byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-") { at += 1 }
            guard isDigit(byte()) else { throw ExpressionFault("expected a digit in the exponent", at: at) }
            while isDigit(byte()) { at += 1 }
        }
        return try finish(start, kind)
    }

    private mutating func finish(_ start: Int, _ kind: TokenKind) throws(ExpressionFault) -> Token {
        let digits = word(start)
        var kind = kind
        if kind == .int, byte() | 0x20 == UInt8(ascii: "u") {
            kind = .uint
            at += 1
        }
        guard !isNamePart(byte()) else {
            throw ExpressionFault("expected an operator after the number \(digits), found \(shown(at))", at: at)
        }
        return Token(kind: kind, text: digits, offset: start, end: at)
    }

    /// Reads a string or bytes literal with its prefix. Returns nil if none begins here.
    private mutating func quoted() throws(ExpressionFault) -> Token? {
        let start = at
        var ahead = 0
        var isRaw = false
        var isBytes = false
        while ahead < 2 {
            let letter = byte(ahead) | 0x20
            if letter == UInt8(ascii: "r"), !isRaw {
                isRaw = true
            } else if letter == UInt8(ascii: "b"), !isBytes {
                isBytes = true
            } else {
                break
            }
            ahead += 1
        }
        let quote = byte(ahead)
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        at += ahead
        let isTriple = byte(1) == quote && byte(2) == quote
        at += isTriple ? 3 : 1
        var value: [UInt8] = []
        while true {
            guard !isAtEnd else { throw ExpressionFault("this quote is not closed", at: start) }
            if byte() == quote && (!isTriple || byte(1) == quote && byte(2) == quote) { break }
            if !isTriple && (byte() == 0x0a || byte() == 0x0d) {
                throw ExpressionFault("the line ends inside a string; write \\n, or three quotes around it", at: at)
            }
            if byte() == UInt8(ascii: "\\"), !isRaw {
                try escape(isBytes, into: &value)
            } else {
                value.append(byte())
                at += 1
            }
        }
        at += isTriple ? 3 : 1
        return Token(kind: isBytes ? .bytes : .string, text: "", bytes: value, offset: start, end: at)
    }

    private mutating func escape(_ isBytes: Bool, into value: inout [UInt8]) throws(ExpressionFault) {
        assert(byte() == UInt8(ascii: "\\"), "an escape begins with another byte than a backslash")
        let start = at
        let letter = byte(1)
        at += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "`"), UInt8(ascii: "?"): value.append(letter)
        case UInt8(ascii: "a"): value.append(7)
        case UInt8(ascii: "b"): value.append(8)
        case UInt8(ascii: "f"): value.append(12)
        case UInt8(ascii: "n"): value.append(10)
        case UInt8(ascii: "r"): value.append(13)
        case UInt8(ascii: "t"): value.append(9)
        case UInt8(ascii: "v"): value.append(11)
        case UInt8(ascii: "x"), UInt8(ascii: "X"): try put(code(2, radix: 16, start: start), isBytes: isBytes, start: start, value: &value)
        case UInt8(ascii: "u") where !isBytes: try put(code(4, radix: 16, start: start), isBytes: false, start: start, value: &value)
        case UInt8(ascii: "U") where !isBytes: try put(code(8, radix: 16, start: start), isBytes: false, start: start, value: &value)
        case UInt8(ascii: "u"), UInt8(ascii: "U"): throw ExpressionFault("bytes have no \\u escapes; write \\x", at: start)
        case UInt8(ascii: "0")...UInt8(ascii: "3"):
            at -= 1
            try put(code(3, radix: 8, start: start), isBytes: isBytes, start: start, value: &value)
        default: throw ExpressionFault("there is no such escape; a backslash itself is written \\\\", at: start)
        }
    }

    private mutating func code(_ count: Int, radix: UInt32, start: Int) throws(ExpressionFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let digit = hexValue(byte()), digit < radix else {
                throw ExpressionFault("this escape needs \(count) \(radix == 8 ? "octal" : "hexadecimal") digits", at: start)
            }
            value = value &* radix &+ digit
            at += 1
        }
        return value
    }

    private func put(_ code: UInt32, isBytes: Bool, start: Int, value: inout [UInt8]) throws(ExpressionFault) {
        if isBytes {
            value.append(UInt8(truncatingIfNeeded: code))
            return
        }
        guard let scalar = UnicodeScalar(code) else { throw ExpressionFault("this escape names no character", at: start) }
        value += UTF8.encode(scalar)!
    }
}

func isDigit(_ c: UInt8) -> Bool { c &- 0x30 < 10 }
func isNameStart(_ c: UInt8) -> Bool { c | 0x20 >= 0x61 && c | 0x20 <= 0x7a || c == UInt8(ascii: "_") }
func isNamePart(_ c: UInt8) -> Bool { isNameStart(c) || isDigit(c) }

func hexValue(_ c: UInt8) -> UInt32? {
    switch c {
    case 0x30...0x39: UInt32(c) - 0x30
    case 0x41...0x46: UInt32(c) - 0x37
    case 0x61...0x66: UInt32(c) - 0x57
    default: nil
    }
}
