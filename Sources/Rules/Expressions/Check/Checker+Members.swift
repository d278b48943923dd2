// The types of what is read from values: members, elements, optionals, and what a macro makes of each element.

extension Checker {
    /// The type of the value in an optional, or of a value that is none. To select from an optional gives an optional again.
    func content(of type: Type) -> Type { type.held ?? type }

    /// Returns the type of the value of `?x` in a list or a map.
    mutating func optionalEntry(_ value: Node) throws(ExpressionFault) -> Type {
        let type = types.resolve(try infer(value))
        if let held = type.held { return held }
        guard !environment.isChecked || type == .dyn || isVariable(type) else {
            throw ExpressionFault("a value after '?' is an optional, such as a.?b, found \(type)", at: value.range.lowerBound)
        }
        return .dyn
    }

    mutating func select(_ node: Node, base: Node, name: String) throws(ExpressionFault) -> Type {
        let type = types.resolve(try infer(base))
        guard let held = type.held else { return try select(node, from: type, name: name) }
        return .optional(try select(node, from: types.resolve(held), name: name))
    }

    private func select(_ node: Node, from type: Type, name: String) throws(ExpressionFault) -> Type {
        switch type {
        case .dyn, .variable: return .dyn
        case .map(_, let value): return value
        case .opaque where !environment.isEvent: return .dyn
        default:
            guard environment.isChecked else { return .dyn }
            throw ExpressionFault("a value of type \(type) has no member '\(name)'; only maps have members", at: node.place)
        }
    }

    mutating func index(_ node: Node, base: Node, key: Node) throws(ExpressionFault) -> Type {
        let type = types.resolve(try infer(base))
        let keyType = types.resolve(try infer(key))
        guard let held = type.held else { return try index(node, in: type, key: key, keyType: keyType) }
        return .optional(try index(node, in: types.resolve(held), key: key, keyType: keyType))
    }

    private mutating func index(_ node: Node, in type: Type, key: Node, keyType: Type) throws(ExpressionFault) -> Type {
        switch type {
        case .dyn, .variable: return .dyn
        case .list(let element):
            if environment.isChecked, ![.dyn, .int, .uint].contains(keyType), !isVariable(keyType) {
                throw ExpressionFault("a list is indexed by an int, found \(keyType)", at: key.range.lowerBound)
            }
            return element
        case .map(let expected, let value):
            if environment.isChecked, !types.unify(expected, keyType), !(expected.isNumber && keyType.isNumber) {
                throw ExpressionFault(
                    "the keys of this map are of type \(types.resolve(expected)), found \(keyType)", at: key.range.lowerBound)
            }
            return value
        default:
            guard environment.isChecked else { return .dyn }
            throw ExpressionFault("only lists and maps are indexed, found \(type)", at: node.place)
        }
    }

    mutating func check(_ macro: Node.Macro) throws(ExpressionFault) -> Type {
        if macro.kind == .bind {
            scope.append((macro.variable, types.resolve(try infer(macro.range))))
            defer { scope.removeLast() }
            return try infer(macro.transform!)
        }
        let range = types.resolve(try infer(macro.range))
        if macro.kind == .optMap || macro.kind == .optFlatMap { return try check(macro, ofOptional: range) }
        // The type of the only variable, and those of both.
        let element: Type
        var pair = (key: Type.dyn, value: Type.dyn)
        switch range {
        case .list(let type): (element, pair) = (type, (.int, type))
        case .map(let key, let value): (element, pair) = (key, (key, value))
        case .dyn, .variable: element = .dyn
        default:
            guard !environment.isChecked else {
                throw ExpressionFault(
                    "\(macro.kind.rawValue) needs a list or a map, found \(range)", at: macro.range.range.lowerBound)
            }
            element = .dyn
        }
        scope.append((macro.variable, macro.valueVariable == nil ? element : pair.key))
        if let name = macro.valueVariable { scope.append((name, pair.value)) }
        defer { scope.removeLast(macro.valueVariable == nil ? 1 : 2) }
        if let condition = macro.condition {
            let type = types.resolve(try infer(condition))
            if environment.isChecked, !types.unify(.bool, type) {
                throw ExpressionFault(
                    "\(macro.kind.rawValue) needs a condition for elements: expected bool, found \(type)", at: condition.range.lowerBound)
            }
        }
        switch macro.kind {
        case .all, .exists, .existsOne: return .bool
        case .filter: return .list(element)
        case .map, .bind, .optMap, .optFlatMap: return .list(try infer(macro.transform!))
        case .transformMap: return .map(pair.key, try infer(macro.transform!))
        case .transformMapEntry: return try entries(macro.transform!)
        }
    }

    /// Returns the type of the map that transformMapEntry makes.
    private mutating func entries(_ transform: Node) throws(ExpressionFault) -> Type {
        let type = types.resolve(try infer(transform))
        switch type {
        case .map: return type
        case .dyn, .variable: return .map(.dyn, .dyn)
        default:
            guard environment.isChecked else { return .map(.dyn, .dyn) }
            throw ExpressionFault("transformMapEntry makes maps: expected {key: value}, found \(type)", at: transform.range.lowerBound)
        }
    }

    /// Returns the type of optMap and optFlatMap.
    private mutating func check(_ macro: Node.Macro, ofOptional range: Type) throws(ExpressionFault) -> Type {
        let name = macro.kind.rawValue
        guard !environment.isChecked || range.held != nil || range == .dyn || isVariable(range) else {
            throw ExpressionFault("\(name) needs an optional, such as a.?b, found \(range)", at: macro.range.range.lowerBound)
        }
        scope.append((macro.variable, types.resolve(range.held ?? .dyn)))
        defer { scope.removeLast() }
        let type = types.resolve(try infer(macro.transform!))
        if macro.kind == .optMap { return .optional(type) }
        guard !environment.isChecked || type.held != nil || type == .dyn || isVariable(type) else {
            throw ExpressionFault(
                "optFlatMap makes an optional, found \(type); optMap takes any value", at: macro.transform!.range.lowerBound)
        }
        return .optional(type.held ?? .dyn)
    }
}
