// Compiles a checked tree into code. It collects the paths of the members that the tree names, computes constant parts, and refuses
// constant arguments that are never valid.

internal import Events

struct Compiler {
    private(set) var paths: [Path] = []
    /// The offset at which the name `source` first stands. It is nil if the expression does not read it.
    private(set) var sourceOffset: Int?
    private let environment: Environment
    private var indices: [Path: Int] = [:]
    private var eventLocals: [Bool] = []

    init(_ environment: Environment) { self.environment = environment }

    mutating func compile(_ node: Node) throws(ExpressionFault) -> Code {
        let code = try translate(node)
        return try folded(code, node)
    }

    private mutating func path(_ keys: [String]) -> Int {
        let path = Path(keys: keys)
        if let known = indices[path] { return known }
        indices[path] = paths.count
        paths.append(path)
        return paths.count - 1
    }

    private mutating func all(_ nodes: [Node]) throws(ExpressionFault) -> [Code] {
        var codes: [Code] = []
        for node in nodes { codes.append(try compile(node)) }
        return codes
    }

    private mutating func translate(_ node: Node) throws(ExpressionFault) -> Code {
        if let meaning = node.meaning { return translate(meaning, node) }
        switch node.kind {
        case .constant(let value):
            let code = Code(.constant, node: node)
            code.constant = value
            return code
        case .name(let name, _):
            let code = Code(.unknown, node: node)
            code.declaredName = name
            return code
        case .select(let base, let name), .test(let base, let name):
            let isTest = if case .test = node.kind { true } else { false }
            if isTest, case .member(let keys, _)? = base.meaning {
                let code = Code(.testMember, node: node)
                code.index = path(keys + [name])
                return code
            }
            let code = Code(isTest ? .test : .select, node: node, children: [try compile(base)])
            code.key = Array(name.utf8)
            return code
        case .optionalSelect(let base, let name): return try optionalSelect(node, base: base, name: name)
        case .optionalIndex(let base, let key):
            if environment.isEvent, case .constant(.string(let name)) = key.kind {
                return try optionalSelect(node, base: base, name: name.string)
            }
            return Code(.optionalIndex, node: node, children: [try compile(base), try compile(key)])
        case .optionalEntry(let value): return Code(.optionalEntry, node: node, children: [try compile(value)])
        case .index(let base, let key): return Code(.index, node: node, children: [try compile(base), try compile(key)])
        case .operation(let kind, let operands): return operation(kind, node: node, operands: try all(operands))
        case .list(let elements): return Code(.list, node: node, children: try all(elements))
        case .map(let entries): return Code(.map, node: node, children: try all(entries.flatMap { [$0.key, $0.value] }))
        case .macro(let macro): return try translate(macro, node)
        case .call(let name, let target, let arguments): return try call(name, target: target, arguments: arguments, node: node)
        }
    }

    private mutating func optionalSelect(_ node: Node, base: Node, name: String) throws(ExpressionFault) -> Code {
        if case .member(let keys, nil)? = base.meaning {
            let code = Code(.optionalMember, node: node)
            code.index = path(keys + [name])
            return code
        }
        let code = Code(.optionalSelect, node: node, children: [try compile(base)])
        code.key = Array(name.utf8)
        return code
    }

    private mutating func translate(_ meaning: Meaning, _ node: Node) -> Code {
        switch meaning {
        case .local(let index):
            let code = Code(.local, node: node)
            code.index = index
            return code
        case .member(let keys, let typeName):
            let code = Code(.member, node: node)
            code.index = path(keys)
            code.typeName = typeName
            return code
        case .declared(let name):
            let code = Code(.declared, node: node)
            code.declaredName = name
            return code
        case .typeName(let name):
            let code = Code(.constant, node: node)
            code.constant = .type(name)
            return code
        case .now: return Code(.now, node: node)
        case .source:
            sourceOffset = min(sourceOffset ?? .max, node.range.lowerBound)
            return Code(.source, node: node)
        case .unknown(let name):
            let code = Code(.unknown, node: node)
            code.declaredName = name
            return code
        }
    }

    private func operation(_ kind: Operator, node: Node, operands: [Code]) -> Code {
        switch kind {
        case .and: return Code(.and, node: node, children: operands)
        case .or: return Code(.or, node: node, children: operands)
        case .not: return Code(.not, node: node, children: operands)
        case .conditional: return Code(.conditional, node: node, children: operands)
        case .negate: return Code(.negate, node: node, children: operands)
        case .equal: return Code(.equal(isNegated: false), node: node, children: operands)
        case .unequal: return Code(.equal(isNegated: true), node: node, children: operands)
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return Code(.order(kind), node: node, children: operands)
        case .in: return Code(.contains, node: node, children: operands)
        case .add, .subtract, .multiply, .divide, .remainder:
            let code = Code(.arithmetic(kind), node: node, children: operands)
            code.promotes = environment.isEvent && node.children.contains(where: comesFromEvent)
            return code
        }
    }

    /// The functions that pass on the values that they are given.
    private static let passing: Set<String> = ["dyn", "of", "ofNonZeroValue", "value", "or", "orValue"]

    /// Returns true if a number in the node can come from the event. The result of a function does not, unless the function only passes it on.
    private func comesFromEvent(_ node: Node) -> Bool {
        switch node.meaning {
        case .member?: return true
        // A variable with a higher index belongs to a macro inside the node. The range of that macro is searched anyway.
        case .local(let index)?: return index < eventLocals.count && eventLocals[index]
        case .some: return false
        case nil: break
        }
        if case .call(let name, _, _) = node.kind, !Compiler.passing.contains(name) { return false }
        return node.children.contains(where: comesFromEvent)
    }

    private mutating func translate(_ macro: Node.Macro, _ node: Node) throws(ExpressionFault) -> Code {
        let range = try compile(macro.range)
        let variables = macro.valueVariable == nil ? 1 : 2
        for _ in 0..<variables { eventLocals.append(environment.isEvent && comesFromEvent(macro.range)) }
        defer { eventLocals.removeLast(variables) }
        var children = [range]
        if let condition = macro.condition { children.append(try compile(condition)) }
        if let transform = macro.transform { children.append(try compile(transform)) }
        let code = Code(.macro(macro.kind), node: node, children: children)
        code.index = eventLocals.count - variables
        code.hasPair = variables == 2
        code.hasCondition = macro.condition != nil
        return code
    }

    private mutating func call(
        _ name: String, target: Node?, arguments: [Node], node: Node
    ) throws(ExpressionFault) -> Code {
        var arguments = arguments
        var isMember = target != nil
        var called = name
        if let target {
            if let qualified = Function.qualified(name, target: target) {
                isMember = false
                called = qualified
            } else {
                arguments.insert(target, at: 0)
            }
        }
        guard let function = Function.named(called),
            function.overloads.contains(where: { $0.parameters.count == arguments.count && $0.isMember == isMember })
        else { return Code(.unknownCall, node: node, children: try all(arguments)) }
        let code = Code(.call(function), node: node, children: try all(arguments))
        code.promotes = environment.isEvent && arguments.contains(where: comesFromEvent)
        if function == .matches {
            if case .constant = code.children[1].kind, case .string(let pattern) = code.children[1].constant {
                do throws(PatternFault) {
                    code.pattern = try CompiledPattern(pattern.bytes)
                } catch {
                    if environment.isChecked { throw ExpressionFault(error.message, at: Int(code.children[1].start)) }
                }
            }
        }
        return code
    }

    /// Returns a constant instead of code that always has the same value. Code that always fails stays, since it may never run. But a
    /// constant text that is not a valid time, duration, zone, address, network or version is a mistake, and a fault.
    private func folded(_ code: Code, _ node: Node) throws(ExpressionFault) -> Code {
        switch code.kind {
        case .constant, .member, .testMember, .optionalMember, .optionalEntry, .local, .declared, .now, .source, .unknown, .macro,
            .unknownCall:
            return code
        default: break
        }
        guard !code.children.isEmpty || { if case .list = code.kind { true } else if case .map = code.kind { true } else { false } }(),
            code.children.allSatisfy(\.isConstant)
        else { return code }
        var evaluator = Machine(limits: ExpressionLimits())
        do throws(Failure) {
            let value = try evaluator.run(code)
            let constant = Code(.constant, node: node)
            constant.constant = value
            return constant
        } catch {
            let isSlip: Bool =
                switch error.problem {
                case .timestamp, .duration, .address, .network, .version, .zone: true
                default: false
                }
            if environment.isEvent, isSlip { throw ExpressionFault(error.problem.words, at: Int(error.start)) }
            return code
        }
    }
}
