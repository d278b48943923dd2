// An expression that is ready to run: its names are resolved, and its constants and constant patterns are computed.

final class Code: @unchecked Sendable {
    enum Kind: BitwiseCopyable {
        case constant
        /// `index` is the index of the path.
        case member, testMember, optionalMember
        case local, declared, now, source, unknown
        /// Looks up `key` in the value of the first child.
        case select, test, optionalSelect
        case index, optionalIndex
        /// An element of a list or the value of an entry, which is there if the optional has a value.
        case optionalEntry
        case and, or, not, conditional, negate
        case equal(isNegated: Bool)
        case order(Operator)
        case contains
        case arithmetic(Operator)
        case list, map
        /// The children are the range, the condition if there is one, and for map the transform.
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
    /// For arithmetic: true if an operand comes from the event. Then an int is converted to a double if the other operand is a double.
    var promotes = false
    /// For a macro: true if it has a second variable, for the value of each entry.
    var hasPair = false
    /// For a macro: true if it has a condition. Only macros that transform can lack one.
    var hasCondition = false
    /// For a member: the type that the name means if the event lacks the member.
    var typeName: String?
    var declaredName = ""
    var pattern: CompiledPattern?

    init(_ kind: Kind, node: Node, children: [Code] = []) {
        self.kind = kind
        start = Int32(node.range.lowerBound)
        end = Int32(node.range.upperBound)
        self.children = children
        assert(children.allSatisfy { $0.start >= start && $0.end <= end }, "a part of an expression lies outside the whole")
    }

    func failure(_ problem: Problem) -> Failure { Failure(problem: problem, start: start, end: end) }

    var isConstant: Bool { if case .constant = kind { true } else { false } }
}
