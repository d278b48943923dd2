// Makes identifiers of ASCII from any text, each only once. An identifier that a language reserves, or that is taken, gets a number.

internal import Document

struct Identifiers {
    private var taken: Set<String>

    /// Words that Swift, Python or TypeScript reserve, or that would hide a name of the generated code.
    private static let reserved: Set<String> = [
        "as", "async", "await", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else",
        "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout",
        "internal",
        "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "Self",
        "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while", "Any",
        "Type", "Protocol", "and", "assert", "def", "del", "elif", "except", "finally", "from", "global", "lambda", "nonlocal", "not", "or",
        "pass", "raise", "with", "yield", "None", "True", "False", "const", "debugger", "delete", "export", "extends", "function",
        "implements", "instanceof", "interface", "new", "null", "package", "protected", "this", "typeof", "undefined", "void", "any",
        "number",
        "object", "string", "boolean", "never", "unknown", "symbol", "type",
    ]

    init(taken: Set<String>) { self.taken = taken }

    mutating func unique(_ name: String) -> String {
        var candidate = name
        var number = 2
        while taken.contains(candidate) || Identifiers.reserved.contains(candidate) {
            candidate = "\(name)_\(number)"
            number += 1
        }
        taken.insert(candidate)
        return candidate
    }

    static func upperCamel(_ text: String) -> String { lawful(words(text).map(capitalised).joined()) }

    static func lowerCamel(_ text: String) -> String {
        let words = words(text)
        let first = words.first.map { $0.allSatisfy(\.isUppercase) ? $0.lowercased() : $0.prefix(1).lowercased() + $0.dropFirst() }
        return lawful((first ?? "") + words.dropFirst().map(capitalised).joined())
    }

    private static func lawful(_ name: String) -> String {
        let cut = String(name.prefix(120))
        guard let first = cut.utf8.first else { return "empty" }
        return first &- 0x30 < 10 ? "_" + cut : cut
    }

    private static func capitalised(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// The runs of ASCII letters and digits.
    private static func words(_ text: String) -> [String] {
        text.utf8.split { !TextLooks.isLetterOrDigit($0) }.map { String(decoding: Array($0), as: UTF8.self) }
    }
}

enum CodeText {
    /// A comment in one line, without characters that end it or change the direction of text.
    static func comment(_ text: String) -> String { Words.visible(text) }

    /// A literal between double quotes. `escape` writes a scalar that may not stand there as it is.
    static func quoted(_ text: String, _ escape: (UInt32) -> String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value > 0x7e: result += escape(scalar.value)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    static func hex(_ value: UInt32, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

extension String {
    /// The text with each line indented, as the generated code has it.
    func indented() -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "    " + $0 }.joined(separator: "\n")
    }
}
