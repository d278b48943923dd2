// An expression made ready to run: names resolved, constants computed, patterns compiled.

final class Code: @unchecked Sendable {
    enum Kind: BitwiseCopyable {
        case constant
        /// `index`: into the paths.
        case member, testMember
        case local, declared, now, source, unknown
        /// Of the value of the first child, the key in `key`.
        case select, test
        case index
        case and, or, not, conditional, negate
        case equal(isNegated: Bool)
        case order(Operator)
        case contains
        case arithmetic(Operator)
        case list, map
        /// The range, then the condition; of map also the transform, last.
        case macro(Node.Macro.Kind)
        case call(Function)
        case unknownCall
    }

    let kind: Kind
    let start: Int32
    let end: Int32
    let children: [Code]
    var constant = Value.null
    var index = 0
    var key: [UInt8] = []
    /// Of arithmetic: whether an operand comes from the event, so that an int that meets a double becomes one.
    var promotes = false
    /// Of map: whether it has a condition too.
    var hasCondition = false
    /// Of a name that is a type's where the event has no such member.
    var typeName: String?
    var declaredName = ""
    var pattern: CompiledPattern?

    init(_ kind: Kind, _ node: Node, _ children: [Code] = []) {
        self.kind = kind
        start = Int32(node.range.lowerBound)
        end = Int32(node.range.upperBound)
        self.children = children
    }

    func failure(_ problem: Problem) -> Failure { Failure(problem: problem, start: start, end: end) }

    var isConstant: Bool { if case .constant = kind { true } else { false } }
}
