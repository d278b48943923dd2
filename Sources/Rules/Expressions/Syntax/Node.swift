// The tree of an expression. Each node knows the text it stands for, so that faults and `explain` can point at it.

final class Node {
    let kind: Kind
    /// The bytes of the expression that it stands for.
    let range: Range<Int>
    /// Where a message about it points: the operator or the name of the function.
    let place: Int
    /// What the checker found: its type, and where its name leads.
    var type: Type = .dyn
    var meaning: Meaning?

    init(_ kind: Kind, _ range: Range<Int>, place: Int? = nil) {
        self.kind = kind
        self.range = range
        self.place = place ?? range.lowerBound
    }

    enum Kind {
        case constant(Value)
        /// `isRooted`: with a dot before it, so that nothing shadows it.
        case name(String, isRooted: Bool)
        case select(Node, String)
        /// `has(a.b)`.
        case test(Node, String)
        case index(Node, Node)
        case call(String, target: Node?, [Node])
        case operation(Operator, [Node])
        case list([Node])
        case map([(key: Node, value: Node)])
        case macro(Macro)
        /// A protocol-buffer message; the checker refuses it.
        case message(String)
    }

    struct Macro {
        enum Kind: String { case all, exists, existsOne, map, filter }
        var kind: Kind
        var range: Node
        var variable: String
        /// all, exists, existsOne and filter: what is asked of each element; of map: which elements, nil for all.
        var condition: Node?
        /// Of map: what each becomes.
        var transform: Node?
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
