// Resolves every name and infers the type of every node, as far as it is known. Throws a fault for an expression that can never work.
// The types of an event's members are not known in advance. They are dyn, which fits everywhere.

struct Checker {
    let environment: Environment
    var types = Substitution()
    var scope: [(name: String, type: Type)] = []

    init(_ environment: Environment) { self.environment = environment }

    /// Checks the tree and returns the type of the whole expression.
    mutating func check(_ node: Node) throws(ExpressionFault) -> Type {
        let type = try infer(node)
        finish(node)
        return types.resolve(type, isFinal: true)
    }

    mutating func infer(_ node: Node) throws(ExpressionFault) -> Type {
        let type = try find(node)
        node.type = type
        return type
    }

    /// Sets the types that are still unknown to dyn.
    private func finish(_ node: Node) {
        node.type = types.resolve(node.type, isFinal: true)
        for child in node.children { finish(child) }
    }

    private mutating func find(_ node: Node) throws(ExpressionFault) -> Type {
        if let meaning = try meaning(of: node) {
            node.meaning = meaning.0
            return meaning.1
        }
        switch node.kind {
        case .constant(let value): return Checker.type(of: value)
        case .name: return .dyn
        case .select(let base, let name): return try select(node, base: base, name: name)
        case .test(let base, let name):
            _ = try select(node, base: base, name: name)
            return .bool
        case .index(let base, let key): return try index(node, base: base, key: key)
        case .optionalSelect(let base, let name): return .optional(try content(of: select(node, base: base, name: name)))
        case .optionalIndex(let base, let key): return .optional(try content(of: index(node, base: base, key: key)))
        case .optionalEntry(let value): return try optionalEntry(value)
        case .call(let name, let target, let arguments): return try call(node, name: name, target: target, arguments: arguments)
        case .operation(let kind, let operands): return try operation(node, kind: kind, operands: operands)
        case .list(let elements):
            var element: Type?
            for node in elements { element = types.join(element, try infer(node)) }
            return .list(element ?? types.fresh())
        case .map(let entries):
            var key: Type?
            var value: Type?
            for entry in entries {
                let type = types.resolve(try infer(entry.key))
                if environment.isChecked, ![.dyn, .bool, .int, .uint, .string].contains(type), !isVariable(type) {
                    throw ExpressionFault("a key is a string, bool, int or uint, found \(type)", at: entry.key.range.lowerBound)
                }
                key = types.join(key, type)
                value = types.join(value, try infer(entry.value))
            }
            return .map(key ?? types.fresh(), value ?? types.fresh())
        case .macro(let macro): return try check(macro)
        }
    }

    func isVariable(_ type: Type) -> Bool { if case .variable = type { true } else { false } }

    static func type(of value: Value) -> Type {
        switch value {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .duration: .duration
        case .ip: .ip
        case .version: .version
        case .list: .list(.dyn)
        case .map: .map(.dyn, .dyn)
        case .type: .type(.dyn)
        case .optional: .optional(.dyn)
        }
    }

    // MARK: Names

    /// Returns the meaning of a node and its type. It is nil if the node is not a name, or selects a member of a named value.
    private func meaning(of node: Node) throws(ExpressionFault) -> (Meaning, Type)? {
        guard let (root, keys, isRooted) = path(node) else { return nil }
        if !isRooted, let local = scope.lastIndex(where: { $0.name == root }) {
            return keys.isEmpty ? (.local(local), scope[local].type) : nil
        }
        if root == Environment.constantsName, let constants = environment.constants { return try constant(node, keys, among: constants) }
        if environment.isEvent {
            switch root {
            case "this": return (.member(keys, orType: nil), .dyn)
            case "now" where keys.isEmpty: return (.now, .timestamp)
            case "source" where keys.isEmpty: return (.source, .string)
            case "now", "source": return nil
            case "google", "cel":
                let name = ([root] + keys).joined(separator: ".")
                if Environment.typeNames[name] != nil { return (.typeName(name), .type(.dyn)) }
            default: break
            }
            // `type` is a member of nearly every event, so the name never means the type of types.
            let isType = keys.isEmpty && root != "type" && Environment.typeNames[root] != nil
            return (.member([root] + keys, orType: isType ? root : nil), .dyn)
        }
        guard case .declared(let variables) = environment.variables else { return nil }
        let name = ([root] + keys).joined(separator: ".")
        for candidate in environment.candidates(name, isRooted: isRooted) {
            if let type = variables[candidate] { return (.declared(candidate), type) }
            if let type = Environment.typeNames[candidate] { return (.typeName(candidate), .type(type)) }
        }
        if !keys.isEmpty { return nil }
        if environment.isChecked { throw ExpressionFault("nothing is called '\(name)'", at: node.range.lowerBound) }
        return (.unknown(name), .dyn)
    }

    /// Returns the meaning of `constants.NAME`. It is nil if the node selects a member of a constant.
    private func constant(_ node: Node, _ keys: [String], among names: [String]) throws(ExpressionFault) -> (Meaning, Type)? {
        let root = Environment.constantsName
        guard let name = keys.first else {
            throw ExpressionFault("'\(root)' is no value by itself; write \(root).NAME", at: node.range.lowerBound)
        }
        guard keys.count == 1 else { return nil }
        guard names.contains(name) else {
            let near = nearestWord(to: name, among: names).map { ", did you mean \($0)?" } ?? "; add it to '\(root)' of the provider"
            throw ExpressionFault("there is no constant '\(name)'" + near, at: node.place)
        }
        return (.declared("\(root).\(name)"), .string)
    }

    /// Returns the names in a chain of selections. It is nil for any other node. Names in brackets count only in an expression on events.
    private func path(_ node: Node) -> (root: String, keys: [String], isRooted: Bool)? {
        switch node.kind {
        case .name(let name, let isRooted): return (name, [], isRooted)
        case .select(let base, let name):
            guard let (root, keys, isRooted) = path(base) else { return nil }
            return (root, keys + [name], isRooted)
        case .index(let base, let key):
            guard environment.isEvent, case .constant(.string(let text)) = key.kind, let (root, keys, isRooted) = path(base) else {
                return nil
            }
            return (root, keys + [text.string], isRooted)
        default: return nil
        }
    }

    // MARK: Operators and functions

    private mutating func operation(_ node: Node, kind: Operator, operands: [Node]) throws(ExpressionFault) -> Type {
        var given: [Type] = []
        for operand in operands { given.append(types.resolve(try infer(operand))) }
        switch kind {
        case .and, .or:
            for (operand, type) in zip(operands, given) where environment.isChecked && !types.unify(.bool, type) {
                throw ExpressionFault("\(kind.rawValue) joins two conditions: expected bool, found \(type)", at: operand.range.lowerBound)
            }
            return .bool
        case .conditional:
            if environment.isChecked, !types.unify(.bool, given[0]) {
                throw ExpressionFault("?: begins with a condition: expected bool, found \(given[0])", at: operands[0].range.lowerBound)
            }
            return types.join(given[1], given[2])
        case .equal, .unequal:
            if environment.isChecked, !types.unify(given[0], given[1]), !isComparable(given[0], given[1]) {
                throw ExpressionFault(
                    "\(given[0]) is never equal to \(given[1]): \(way(given[0], given[1]))", at: node.place)
            }
            return .bool
        case .in where environment.isChecked:
            // Numbers of different types can be equal, so the types of the value and the elements may differ.
            if case .list(let element) = given[1], given[0].isNumber && element.isNumber { return .bool }
        default: break
        }
        if kind.isArithmetic, environment.isEvent, given.contains(.dyn) { return try arithmetic(node, kind: kind, given: given) }
        if kind == .negate, environment.isEvent, given[0] == .dyn { return .dyn }
        if let result = resolve(kind.overloads, given) { return result }
        guard environment.isChecked else { return .dyn }
        let list = given.map(\.description).joined(separator: " and ")
        throw ExpressionFault("\(kind == .negate ? "-" : kind.rawValue) does not take \(list)\(hint(kind, given))", at: node.place)
    }

    /// Returns the type of arithmetic with a value of the event. That value can be any type of number, so a number as result is dyn.
    private mutating func arithmetic(_ node: Node, kind: Operator, given: [Type]) throws(ExpressionFault) -> Type {
        guard let result = resolve(kind.overloads, given) ?? (given.contains { $0.isNumber } ? .dyn : nil) else {
            throw ExpressionFault("\(kind.rawValue) does not take \(given[0]) and \(given[1])", at: node.place)
        }
        return result.isNumber ? .dyn : result
    }

    private func isComparable(_ a: Type, _ b: Type) -> Bool {
        // A number can be compared with any other number, and null with any value.
        if case .type = a, case .type = b { return true }
        return a.isNumber && b.isNumber || a == .null || b == .null
    }

    private func way(_ a: Type, _ b: Type) -> String {
        switch (a, b) {
        case (.string, _) where b.isNumber, (_, .string) where a.isNumber: "put the number in quotes, or convert with int() or double()"
        case (.string, .bool), (.bool, .string): "true and false are written without quotes"
        case (.string, .timestamp), (.timestamp, .string): "write timestamp(\"…\")"
        case (.string, .duration), (.duration, .string): "write duration(\"…\")"
        case (.string, .ip), (.ip, .string): "write ip(\"…\")"
        case (.string, .version), (.version, .string): "write version(\"…\")"
        default: "the types do not fit"
        }
    }

    private func hint(_ kind: Operator, _ given: [Type]) -> String {
        if kind == .in { return "; 'in' needs a list or a map" }
        guard given.count == 2 else { return "" }
        if given[0].isNumber && given[1].isNumber { return "; convert one with int(), uint() or double()" }
        return given.contains(.string) ? "; " + way(given[0], given[1]) : ""
    }

    private mutating func call(
        _ node: Node, name: String, target: Node?, arguments: [Node]
    ) throws(ExpressionFault) -> Type {
        var isMember = target != nil
        var called = name
        // In `math.abs(n)`, `math` is the name of the extension and not a value.
        if let target, let qualified = Function.qualified(name, target: target) {
            isMember = false
            called = qualified
        }
        var given: [Type] = []
        if isMember, let target { given.append(types.resolve(try infer(target))) }
        for argument in arguments { given.append(types.resolve(try infer(argument))) }
        if let declared = environment.functions[called] {
            let overloads = declared.map { Function.Overload(isMember: false, parameters: $0.parameters, result: $0.result) }
            if let result = resolve(overloads, given) { return result }
            throw ExpressionFault("\(called) does not take \(list(given))", at: node.place)
        }
        guard let function = Function.named(called) else {
            guard environment.isChecked else { return .dyn }
            let near = nearestWord(
                to: called, among: Function.allCases.map(\.rawValue) + ["has", "all", "exists", "exists_one", "map", "filter"])
            throw ExpressionFault("there is no function '\(called)'" + (near.map { ", did you mean \($0)?" } ?? ""), at: node.place)
        }
        let all = function.overloads
        if let result = resolve(all.filter { $0.isMember == isMember }, given) { return result }
        guard environment.isChecked else { return .dyn }
        throw mismatch(node, name: called, all: all, given: given, isMember: isMember)
    }

    private func mismatch(
        _ node: Node, name: String, all: [Function.Overload], given: [Type], isMember: Bool
    ) -> ExpressionFault {
        let usage = all.map { overload in
            let types = overload.parameters.map(\.description)
            if overload.isMember { return "\(types[0]).\(name)(\(types.dropFirst().joined(separator: ", ")))" }
            return "\(name)(\(types.joined(separator: ", ")))"
        }
        let shown = usage.prefix(4).joined(separator: " or ") + (usage.count > 4 ? " or …" : "")
        let was = isMember ? "\(given[0]).\(name)(\(list(Array(given.dropFirst()))))" : "\(name)(\(list(given)))"
        return ExpressionFault("expected \(shown), found \(was)", at: node.place)
    }

    private func list(_ types: [Type]) -> String { types.map(\.description).joined(separator: ", ") }

    /// Returns the result type of the overloads that take these types. It is dyn if the results differ, and nil if no overload takes them.
    private mutating func resolve(_ overloads: [Function.Overload], _ given: [Type]) -> Type? {
        var result: Type?
        for overload in overloads where overload.parameters.count == given.count {
            var names: [String: Type] = [:]
            let parameters = overload.parameters.map { instance($0, &names) }
            let outcome = instance(overload.result, &names)
            var attempt = types
            guard zip(parameters, given).allSatisfy({ attempt.unify($0, $1) }) else { continue }
            types = attempt
            let resolved = types.resolve(outcome)
            if let known = result, known != resolved { return .dyn }
            result = resolved
        }
        return result
    }

    private mutating func instance(_ type: Type, _ names: inout [String: Type]) -> Type {
        if case .parameter(let name) = type {
            if let known = names[name] { return known }
            let fresh = types.fresh()
            names[name] = fresh
            return fresh
        }
        var copy = self
        var local = names
        let mapped = type.mapped { copy.instance($0, &local) }
        self = copy
        names = local
        return mapped
    }
}

/// Returns the candidate that was probably meant. It needs at most two edits, and fewer edits than half of its letters. It is nil if there
/// is none.
func nearestWord(to word: String, among candidates: [String]) -> String? {
    candidates.map { ($0, slips(word, $0)) }.filter { $0.1 <= 2 && $0.1 * 2 < $0.0.utf8.count }.min { $0.1 < $1.1 }?.0
}

private func slips(_ a: String, _ b: String) -> Int {
    let a = Array(a.utf8).map { $0 | 0x20 }
    let b = Array(b.utf8).map { $0 | 0x20 }
    var row = Array(0...b.count)
    for i in a.indices {
        var diagonal = row[0]
        row[0] = i + 1
        for j in b.indices {
            let replaced = diagonal + (a[i] == b[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
        }
    }
    return row[b.count]
}
