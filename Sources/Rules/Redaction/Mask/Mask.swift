// The settings of `mask` without its paths: a pattern, and the text that replaces each match. Everything is checked and compiled here.

internal import Expressions

public struct MaskFault: Error, Equatable {
    public enum Part: Sendable { case pattern, text }

    public var part: Part
    /// The message. It follows the name of the setting in a sentence, such as "must …".
    public var message: String
}

public struct Mask: Sendable {
    public static let longestText = 256

    /// The pattern and the text that replaces a match, as they were given.
    public let patternText: String
    public let replacementText: String
    let pattern: CompiledPattern
    let pieces: [Piece]

    /// A part of the new text.
    enum Piece: Sendable, Equatable {
        /// Bytes as JSON writes them. They are not empty.
        case bytes([UInt8])
        /// The text that the group with this number matched.
        case group(Int)
    }

    public init(pattern text: String, with replacement: String) throws(MaskFault) {
        (patternText, replacementText) = (text, replacement)
        if Mask.matchesBytes(text) {
            throw MaskFault(part: .pattern, message: #"must not hold \C, which could cut a character in two"#)
        }
        do throws(PatternFault) {
            pattern = try CompiledPattern(Array(text.utf8))
        } catch {
            let what = error.isMissing || error.isTooLarge ? "cannot be used" : "is not a pattern"
            throw MaskFault(part: .pattern, message: "\(what): \(error.message)")
        }
        pieces = try Mask.pieces(of: replacement, groups: pattern.groups)
    }

    /// The number of spans to find: one for the match, and one for each group up to the highest that the new text names.
    var spans: Int {
        1 + pieces.reduce(0) { most, piece in if case .group(let number) = piece { max(most, number) } else { most } }
    }

    private static func matchesBytes(_ pattern: String) -> Bool {
        var isEscaped = false
        for byte in pattern.utf8 {
            if isEscaped, byte == UInt8(ascii: "C") { return true }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return false
    }

    /// Splits the new text into pieces. `\0` is the whole match, `\1` to `\9` are its groups, and `\\` is a backslash.
    private static func pieces(of text: String, groups: Int) throws(MaskFault) -> [Piece] {
        guard text.utf8.count <= longestText else {
            throw MaskFault(part: .text, message: "must have at most \(longestText) bytes, has \(text.utf8.count)")
        }
        var pieces: [Piece] = []
        var literal: [UInt8] = []
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped, Byte.isDigit(byte) {
                let group = Int(byte - 0x30)
                guard group <= groups else {
                    let count = groups == 0 ? "none" : "\(groups)"
                    throw MaskFault(part: .text, message: "names group \\\(group), and the pattern has \(count)")
                }
                if !literal.isEmpty { pieces.append(.bytes(literal)) }
                literal = []
                pieces.append(.group(group))
            } else if isEscaped || byte != UInt8(ascii: "\\") {
                guard !isEscaped || byte == UInt8(ascii: "\\") else { throw MaskFault(part: .text, message: stray) }
                JSONText.escape(byte) { literal.append($0) }
            }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        if isEscaped { throw MaskFault(part: .text, message: stray) }
        if !literal.isEmpty { pieces.append(.bytes(literal)) }
        return pieces
    }

    private static var stray: String { #"must have \0 to \9 or \\ where it has a backslash"# }
}
