// The words of an expression.

enum TokenKind: Equatable {
    case name, quotedName, reserved
    case int, uint, double
    case string, bytes
    /// An operator or a bracket; `text` tells which.
    case sign
    case end
}

struct Token {
    var kind: TokenKind
    /// The text of a name or sign, the digits of a number as written.
    var text: String
    /// What a string or bytes literal stands for.
    var bytes: [UInt8] = []
    var offset: Int
    var end: Int

    /// As a message names it.
    var found: String {
        switch kind {
        case .end: "the end of the expression"
        case .string: "a string"
        case .bytes: "bytes"
        case .int, .uint, .double: "the number \(text)"
        case .reserved: "'\(text)', a reserved word"
        case .name, .quotedName, .sign: "'\(text)'"
        }
    }
}
