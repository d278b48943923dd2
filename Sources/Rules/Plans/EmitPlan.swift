// A rule that makes a second event from one, as the file says it.

public import Expressions

public struct EmitPlan: Sendable {
    /// Which events make another.
    public var condition: Expression
    /// The members that take the place of the original's own, in their order.
    public var members: [(key: String, value: [Piece])]

    public init(condition: Expression, members: [(key: String, value: [Piece])]) {
        self.condition = condition
        self.members = members
    }

    /// A run of a value.
    public enum Piece: Sendable {
        case json(String)
        /// What the expression gives of the original.
        case value(Expression)
    }

    public var values: [Expression] {
        members.flatMap(\.value).compactMap { piece in
            if case .value(let expression) = piece { expression } else { nil }
        }
    }
}
