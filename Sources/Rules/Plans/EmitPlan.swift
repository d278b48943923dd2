// A rule that makes a second event from an event, as the file defines it.

public import Expressions

public struct EmitPlan: Sendable {
    /// The condition under which an event makes another.
    public var condition: Expression
    /// The members that replace those of the original, in their order.
    public var members: [(key: String, value: [Piece])]

    public init(condition: Expression, members: [(key: String, value: [Piece])]) {
        self.condition = condition
        self.members = members
    }

    /// A part of a value.
    public enum Piece: Sendable {
        case json(String)
        /// The value of the expression for the original.
        case value(Expression)
    }

    public var values: [Expression] {
        members.flatMap(\.value).compactMap { piece in
            if case .value(let expression) = piece { expression } else { nil }
        }
    }
}
