// The parts of a condition that must all be true, and those of which each alone makes it true. With them two conditions can be compared without
// an event: a condition that holds has true parts, whatever the event is.

/// A part of a condition.
public struct ConditionPart: Sendable, Hashable {
    /// The part as it is written, without a `!` before it.
    public var text: String
    /// True if the part must be false.
    public var isNegated: Bool
    /// The tokens of the text. Parts with the same tokens have the same value for the same event.
    private let tokens: [[UInt8]]
    /// The hash of the tokens, which is made once: a part is looked up for each pair of routes.
    private let digest: Int

    init(_ code: Code, isNegated: Bool, in expression: String) {
        text = String(decoding: Array(expression.utf8)[Int(code.start)..<Int(code.end)], as: UTF8.self)
        self.isNegated = isNegated
        let bytes = Array(text.utf8)
        var lexer = Lexer(bytes)
        var tokens: [[UInt8]] = []
        while let token = try? lexer.next(), token.kind != .end { tokens.append(Array(bytes[token.offset..<token.end])) }
        self.tokens = tokens
        digest = tokens.hashValue
    }

    public static func == (a: ConditionPart, b: ConditionPart) -> Bool {
        a.digest == b.digest && a.isNegated == b.isNegated && a.tokens == b.tokens
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(isNegated)
        hasher.combine(digest)
    }

    /// True if its value depends on more than the event: on its arrival or its source.
    public var dependsOnWay: Bool { tokens.contains { $0 == Array("now".utf8) || $0 == Array("source".utf8) } }

    /// The same part with the opposite value.
    public var opposite: ConditionPart {
        var part = self
        part.isNegated.toggle()
        return part
    }
}

extension Expression {
    /// The parts that all are true, and not in error, if the condition is true.
    public var conjuncts: [ConditionPart] { parts(of: code, isTrue: true) }

    /// The parts that all are false, and not in error, if the condition is false. Each is given with the opposite value, as it then is.
    public var disjunctsDenied: [ConditionPart] { parts(of: code, isTrue: false) }

    /// What follows if the code has this value.
    private func parts(of code: Code, isTrue: Bool) -> [ConditionPart] {
        switch code.kind {
        case .and where isTrue, .or where !isTrue: code.children.flatMap { parts(of: $0, isTrue: isTrue) }
        case .not: parts(of: code.children[0], isTrue: !isTrue)
        default: [ConditionPart(code, isNegated: !isTrue, in: text)]
        }
    }
}
