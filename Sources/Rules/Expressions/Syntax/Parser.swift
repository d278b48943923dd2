// Parses an expression by the grammar of CEL, including macros. A fault says where the text is wrong and what was expected. The
// recursion never exceeds the limit.

struct Parser {
    private var lexer: Lexer
    private var token: Token
    /// The end of the previous token.
    private var last = 0
    private var depth = 0
    private let limits: ExpressionLimits

    static func parse(_ text: String, limits: ExpressionLimits = ExpressionLimits()) throws(ExpressionFault) -> Node {
        let bytes = Array(text.utf8)
        guard bytes.count <= limits.length else {
            throw ExpressionFault("the expression is longer than \(limits.length) bytes", at: 0)
        }
        var parser = try Parser(bytes, limits)
        let node = try parser.expression()
        guard parser.token.kind == .end else {
            throw parser.expected("an operator or the end of the expression")
        }
        assert(parser.depth == 0, "a level was entered and not left")
        return node
    }

    private init(_ text: [UInt8], _ limits: ExpressionLimits) throws(ExpressionFault) {
        lexer = Lexer(text)
        token = try lexer.next()
        self.limits = limits
    }

    private func expected(_ what: String) -> ExpressionFault {
        let way =
            switch (token.kind, token.text) {
            case (.name, "and"): "; 'and' is written &&"
            case (.name, "or"): "; 'or' is written ||"
            case (.name, "not"): "; 'not' is written !"
            case (.name, "is"): "; equality is written =="
            default: ""
            }
        return ExpressionFault("expected \(what), found \(token.found)\(way)", at: token.offset)
    }

    @discardableResult private mutating func advance() throws(ExpressionFault) -> Token {
        let before = token
        assert(token.end >= token.offset && token.offset >= last, "two tokens overlap")
        last = token.end
        token = try lexer.next()
        return before
    }

    private func isSign(_ sign: String) -> Bool { token.kind == .sign && token.text == sign }

    private mutating func take(_ sign: String) throws(ExpressionFault) -> Bool {
        guard isSign(sign) else { return false }
        try advance()
        return true
    }

    private mutating func demand(_ sign: String, _ where: String) throws(ExpressionFault) {
        guard try take(sign) else { throw expected("'\(sign)' \(`where`)") }
    }

    private mutating func enter() throws(ExpressionFault) {
        depth += 1
        guard depth <= limits.depth else {
            throw ExpressionFault("the expression nests deeper than \(limits.depth) levels", at: token.offset)
        }
    }

    private mutating func expression() throws(ExpressionFault) -> Node {
        try enter()
        defer { depth -= 1 }
        let start = token.offset
        let condition = try chain(.or)
        let place = token.offset
        guard try take("?") else { return condition }
        let yes = try chain(.or)
        try demand(":", "between the two results of a condition")
        let no = try expression()
        return Node(.operation(.conditional, [condition, yes, no]), start..<last, place: place)
    }

    /// Parses `a || b || c` or `a && b && c` into a balanced tree, so that a long chain does not nest deep.
    private mutating func chain(_ kind: Operator) throws(ExpressionFault) -> Node {
        var terms: [Node] = []
        var places: [Int] = []
        repeat {
            terms.append(kind == .or ? try chain(.and) : try relation())
            places.append(token.offset)
        } while try take(kind.rawValue)
        return balanced(kind, terms: terms[...], places: places)
    }

    private func balanced(_ kind: Operator, terms: ArraySlice<Node>, places: [Int]) -> Node {
        if terms.count == 1 { return terms[terms.startIndex] }
        let middle = terms.startIndex + (terms.count + 1) / 2
        let left = balanced(kind, terms: terms[..<middle], places: places)
        let right = balanced(kind, terms: terms[middle...], places: places)
        return Node(.operation(kind, [left, right]), left.range.lowerBound..<right.range.upperBound, place: places[middle - 1])
    }

    /// Parses operators of the same precedence, which group to the left. Each one adds a level to the recursion of the evaluation.
    private mutating func leftward(
        _ signs: [String: Operator], _ operand: (inout Parser) throws(ExpressionFault) -> Node
    ) throws(ExpressionFault) -> Node {
        let start = token.offset
        let before = depth
        defer { depth = before }
        var left = try operand(&self)
        while token.kind == .sign || token.kind == .name, let kind = signs[token.text] {
            try enter()
            let place = try advance().offset
            let right = try operand(&self)
            left = Node(.operation(kind, [left, right]), start..<last, place: place)
        }
        return left
    }

    private mutating func relation() throws(ExpressionFault) -> Node {
        try leftward([
            "==": .equal, "!=": .unequal, "<": .less, "<=": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual, "in": .in,
        ]) { (parser) throws(ExpressionFault) in try parser.sum() }
    }

    private mutating func sum() throws(ExpressionFault) -> Node {
        try leftward(["+": .add, "-": .subtract]) { (parser) throws(ExpressionFault) in try parser.product() }
    }

    private mutating func product() throws(ExpressionFault) -> Node {
        try leftward(["*": .multiply, "/": .divide, "%": .remainder]) { (parser) throws(ExpressionFault) in try parser.unary() }
    }

    private mutating func unary() throws(ExpressionFault) -> Node {
        guard isSign("!") || isSign("-") else { return try member() }
        try enter()
        defer { depth -= 1 }
        let sign = try advance()
        if sign.text == "-", token.offset == sign.end, token.kind == .int || token.kind == .double {
            return try members(of: try literal(isNegative: true, from: sign.offset), from: sign.offset)
        }
        let operand = try unary()
        return Node(.operation(sign.text == "!" ? .not : .negate, [operand]), sign.offset..<last, place: sign.offset)
    }

    private mutating func member() throws(ExpressionFault) -> Node {
        let start = token.offset
        return try members(of: try primary(), from: start)
    }

    private mutating func members(of first: Node, from start: Int) throws(ExpressionFault) -> Node {
        var node = first
        let before = depth
        defer { depth = before }
        while true {
            if try take(".") {
                try enter()
                let isOptional = try take("?")
                guard token.kind == .name || token.kind == .reserved || token.kind == .quotedName, token.text != "in" else {
                    throw expected("a member after '\(isOptional ? ".?" : ".")'")
                }
                let name = try advance()
                if isOptional {
                    if isSign("(") { throw expected("an operator; a function is called without '?'") }
                    node = Node(.optionalSelect(node, name.text), start..<last, place: name.offset)
                } else if isSign("(") {
                    guard name.kind != .quotedName else { throw expected("an operator after a key in backquotes") }
                    try advance()
                    let arguments = try list(until: ")", "an argument")
                    node = try call(name, target: node, arguments, from: start)
                } else {
                    node = Node(.select(node, name.text), start..<last, place: name.offset)
                }
            } else if isSign("[") {
                try enter()
                let place = try advance().offset
                let isOptional = try take("?")
                let index = try expression()
                try demand("]", "after an index")
                node = Node(isOptional ? .optionalIndex(node, index) : .index(node, index), start..<last, place: place)
            } else if isSign("{"), let name = qualified(node) {
                throw ExpressionFault(
                    "protocol-buffer messages are not supported: '\(name){…}'; for a map write {\"key\": value}", at: start)
            } else {
                return node
            }
        }
    }

    private func qualified(_ node: Node) -> String? {
        switch node.kind {
        case .name(let name, let isRooted): return (isRooted ? "." : "") + name
        case .select(let base, let name): return qualified(base).map { $0 + "." + name }
        default: return nil
        }
    }

    private mutating func primary() throws(ExpressionFault) -> Node {
        let start = token.offset
        switch token.kind {
        case .int, .uint, .double, .string, .bytes: return try literal(isNegative: false, from: start)
        case .name: return try name(isRooted: false, from: start)
        case .reserved:
            throw ExpressionFault(
                "expected an expression, found \(token.found); a member of this name is written this.\(token.text)", at: start)
        case .sign where token.text == ".":
            try advance()
            guard token.kind == .name else { throw expected("a name after '.'") }
            return try name(isRooted: true, from: start)
        case .sign where token.text == "(":
            try advance()
            let inner = try expression()
            try demand(")", "to close the parenthesis")
            return Node(inner.kind, start..<last, place: inner.place)
        case .sign where token.text == "[":
            try advance()
            let elements = try list(until: "]", "an element")
            return Node(.list(elements), start..<last)
        case .sign where token.text == "{":
            try advance()
            return try map(from: start)
        default: throw expected("an expression")
        }
    }

    private mutating func name(isRooted: Bool, from start: Int) throws(ExpressionFault) -> Node {
        let name = try advance()
        if name.text == "in" {
            throw ExpressionFault("expected an expression, found 'in'; a member of this name is written this[\"in\"]", at: name.offset)
        }
        if isSign("(") {
            try advance()
            let arguments = try list(until: ")", "an argument")
            return try call(name, target: nil, arguments, from: start)
        }
        if !isRooted {
            switch name.text {
            case "true": return Node(.constant(.bool(true)), start..<last)
            case "false": return Node(.constant(.bool(false)), start..<last)
            case "null": return Node(.constant(.null), start..<last)
            default: break
            }
        }
        return Node(.name(name.text, isRooted: isRooted), start..<last)
    }

    private mutating func list(until end: String, _ what: String) throws(ExpressionFault) -> [Node] {
        var nodes: [Node] = []
        while !isSign(end) {
            let start = token.offset
            if isSign("?"), end == "]" {
                try advance()
                nodes.append(Node(.optionalEntry(try expression()), start..<last))
            } else {
                nodes.append(try expression())
            }
            guard try take(",") else { break }
            if end == ")", isSign(end) { throw expected(what) }
        }
        guard try take(end) else { throw expected("',' or '\(end)' after \(what)") }
        return nodes
    }

    private mutating func map(from start: Int) throws(ExpressionFault) -> Node {
        var entries: [(key: Node, value: Node)] = []
        while !isSign("}") {
            let isOptional = try take("?")
            let key = try expression()
            try demand(":", "after a key")
            let value = try expression()
            entries.append((key, isOptional ? Node(.optionalEntry(value), value.range) : value))
            guard try take(",") else { break }
        }
        guard try take("}") else { throw expected("',' or '}' after an entry") }
        return Node(.map(entries), start..<last)
    }

    private mutating func literal(isNegative: Bool, from start: Int) throws(ExpressionFault) -> Node {
        let token = try advance()
        let range = start..<last
        switch token.kind {
        case .string: return Node(.constant(.string(TextValue(token.bytes))), range)
        case .bytes: return Node(.constant(.bytes(token.bytes)), range)
        case .double:
            guard let value = Double((isNegative ? "-" : "") + token.text), value.isFinite else {
                throw ExpressionFault("the number \(token.text) is beyond the range of a double", at: start)
            }
            return Node(.constant(.double(value)), range)
        default:
            let isHex = token.text.utf8.dropFirst().first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
            let digits = isHex ? String(token.text.dropFirst(2)) : token.text
            let radix = isHex ? 16 : 10
            if token.kind == .uint {
                guard let value = UInt64(digits, radix: radix) else {
                    throw ExpressionFault("the number \(token.text)u is beyond the range of uint", at: start)
                }
                return Node(.constant(.uint(value)), range)
            }
            guard let value = Int64((isNegative ? "-" : "") + digits, radix: radix) else {
                let way = isNegative ? "write a double" : "write \(token.text)u or a double"
                throw ExpressionFault("the number \(isNegative ? "-" : "")\(token.text) is beyond the range of int; \(way)", at: start)
            }
            return Node(.constant(.int(value)), range)
        }
    }

    private func call(_ name: Token, target: Node?, _ arguments: [Node], from start: Int) throws(ExpressionFault) -> Node {
        let range = start..<last
        if name.text == "has", target == nil { return try has(arguments, range: range, place: name.offset) }
        if let target, case .name("cel", _) = target.kind, name.text == "bind" {
            return Node(.macro(try bind(arguments, at: name.offset)), range, place: name.offset)
        }
        // The extremes take any number of arguments, which are one list then.
        if let target, case .name("math", _) = target.kind, ["greatest", "least"].contains(name.text), arguments.count > 1 {
            let list = Node(.list(arguments), arguments[0].range.lowerBound..<last)
            return Node(.call(name.text, target: target, [list]), range, place: name.offset)
        }
        if let target, let macro = try macro(name, range: target, arguments: arguments) {
            return Node(.macro(macro), range, place: name.offset)
        }
        return Node(.call(name.text, target: target, arguments), range, place: name.offset)
    }

    private func has(_ arguments: [Node], range: Range<Int>, place: Int) throws(ExpressionFault) -> Node {
        guard arguments.count == 1 else { throw ExpressionFault("has takes one member: has(a.b)", at: place) }
        let argument = arguments[0]
        switch argument.kind {
        case .select(let base, let name): return Node(.test(base, name), range, place: place)
        // CEL does not allow the next two, but events need them: a key that is not a name, and a top-level member.
        case .index(let base, let key):
            if case .constant(.string(let text)) = key.kind { return Node(.test(base, text.string), range, place: place) }
        case .name(let name, false):
            let this = Node(.name("this", isRooted: true), argument.range)
            return Node(.test(this, name), range, place: place)
        default: break
        }
        throw ExpressionFault("has asks for a member: has(a.b)", at: argument.range.lowerBound)
    }

    private func bind(_ arguments: [Node], at place: Int) throws(ExpressionFault) -> Node.Macro {
        guard arguments.count == 3, case .name(let variable, false) = arguments[0].kind else {
            throw ExpressionFault("cel.bind takes a variable, its value and an expression: cel.bind(x, a + b, x * x)", at: place)
        }
        return Node.Macro(kind: .bind, range: arguments[1], variable: variable, transform: arguments[2])
    }

    /// Returns the macro that is called. It is nil if the name is the name of a function.
    private func macro(_ name: Token, range: Node, arguments: [Node]) throws(ExpressionFault) -> Node.Macro? {
        let kind: Node.Macro.Kind
        var hasPair = false
        switch (name.text, arguments.count) {
        case ("all", 2...3): (kind, hasPair) = (.all, arguments.count == 3)
        case ("exists", 2...3): (kind, hasPair) = (.exists, arguments.count == 3)
        case ("exists_one", 2...3), ("existsOne", 2...3): (kind, hasPair) = (.existsOne, arguments.count == 3)
        case ("map", 2...3): kind = .map
        case ("filter", 2): kind = .filter
        case ("transformList", 3...4): (kind, hasPair) = (.map, true)
        case ("transformMap", 3...4): (kind, hasPair) = (.transformMap, true)
        case ("transformMapEntry", 3...4): (kind, hasPair) = (.transformMapEntry, true)
        case ("optMap", 2): kind = .optMap
        case ("optFlatMap", 2): kind = .optFlatMap
        case ("all", let n), ("exists", let n), ("exists_one", let n), ("existsOne", let n), ("filter", let n), ("map", let n),
            ("optMap", let n), ("optFlatMap", let n):
            throw ExpressionFault("\(name.text) takes a variable and an expression, was given \(n) arguments", at: name.offset)
        case ("transformList", let n), ("transformMap", let n), ("transformMapEntry", let n):
            throw ExpressionFault("\(name.text) takes two variables and an expression, was given \(n) arguments", at: name.offset)
        default: return nil
        }
        var names: [String] = []
        for argument in arguments.prefix(hasPair ? 2 : 1) {
            guard case .name(let variable, false) = argument.kind, !names.contains(variable) else {
                let usage = hasPair ? "two variables: \(name.text)(k, v, …)" : "a variable: \(name.text)(x, …)"
                throw ExpressionFault("\(name.text) begins with \(usage)", at: argument.range.lowerBound)
            }
            names.append(variable)
        }
        var macro = Node.Macro(kind: kind, range: range, variable: names[0], valueVariable: hasPair ? names[1] : nil)
        let rest = arguments.dropFirst(names.count)
        switch kind {
        case .map, .transformMap, .transformMapEntry, .bind, .optMap, .optFlatMap:
            macro.transform = rest.last
            if rest.count == 2 { macro.condition = rest.first }
        case .all, .exists, .existsOne, .filter: macro.condition = rest.first
        }
        return macro
    }
}
