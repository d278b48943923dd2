// The tokens of an expression.

enum TokenKind: Equatable {
    case name, quotedName, reserved
    case int, uint, double
    case string, bytes
    /// An operator or a bracket. `text` says which one.
    case sign
    case end
}

struct Token {
    var kind: TokenKind
    /// The text of a name or a sign, or a number as it is written.
    var text: String
    /// The decoded bytes of a string or bytes literal.
    var bytes: [UInt8] = []
    var offset: Int
    var end: Int

    /// The description of the token in a message.
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
