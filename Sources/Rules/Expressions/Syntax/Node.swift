// The syntax tree of an expression. Each node knows its range in the text, so that faults and `explain` can point at it.

final class Node {
    let kind: Kind
    /// The range of its text, in bytes of the expression.
    let range: Range<Int>
    /// The position for messages about it: the operator, the name of the function, or else the beginning.
    let place: Int
    /// The type that the checker found.
    var type: Type = .dyn
    /// The meaning of its name, which the checker sets. It is nil if the node is not a name.
    var meaning: Meaning?

    init(_ kind: Kind, _ range: Range<Int>, place: Int? = nil) {
        self.kind = kind
        self.range = range
        self.place = place ?? range.lowerBound
        assert(!range.isEmpty && range.lowerBound <= self.place && self.place <= range.upperBound, "a node points outside its own text")
    }

    enum Kind {
        case constant(Value)
        /// `isRooted` is true if a dot precedes the name. Then the variable of a macro cannot shadow it.
        case name(String, isRooted: Bool)
        case select(Node, String)
        /// `has(a.b)`.
        case test(Node, String)
        case index(Node, Node)
        /// `a.?b` and `a[?b]`: an optional with the member or the element, if there is one.
        case optionalSelect(Node, String)
        case optionalIndex(Node, Node)
        /// `?x` in a list, or as the value of an entry of a map: it is there if the optional has a value.
        case optionalEntry(Node)
        case call(String, target: Node?, [Node])
        case operation(Operator, [Node])
        case list([Node])
        case map([(key: Node, value: Node)])
        case macro(Macro)
    }

    struct Macro {
        /// `bind` is `cel.bind(variable, range, transform)`, which gives a value a name.
        /// `optMap` and `optFlatMap` give the value of an optional a name, and `transformMapEntry` makes a map of maps with one entry each.
        enum Kind: String { case all, exists, existsOne, map, filter, transformMap, transformMapEntry, bind, optMap, optFlatMap }
        var kind: Kind
        var range: Node
        var variable: String
        /// The name of the value of each entry, if `variable` is its key or its index. It is nil for a macro with one variable.
        var valueVariable: String?
        /// The condition for each element. It is nil for a map of all elements.
        var condition: Node?
        /// What the macro makes of each element. It is nil for macros that only ask for a condition.
        var transform: Node?
    }
}

extension Node {
    var children: [Node] {
        switch kind {
        case .constant, .name: []
        case .select(let base, _), .test(let base, _), .optionalSelect(let base, _), .optionalEntry(let base): [base]
        case .index(let base, let key), .optionalIndex(let base, let key): [base, key]
        case .call(_, let target, let arguments): (target.map { [$0] } ?? []) + arguments
        case .operation(_, let operands): operands
        case .list(let elements): elements
        case .map(let entries): entries.flatMap { [$0.key, $0.value] }
        case .macro(let macro): [macro.range] + [macro.condition, macro.transform].compactMap { $0 }
        }
    }
}

enum Operator: String {
    case or = "||"
    case and = "&&"
    case equal = "=="
    case unequal = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case `in` = "in"
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case not = "!"
    case negate = "negation"
    case conditional = "?:"

    var isArithmetic: Bool {
        switch self {
        case .add, .subtract, .multiply, .divide, .remainder: true
        default: false
        }
    }
}
