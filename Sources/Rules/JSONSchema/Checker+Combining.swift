// The part of the checker for keywords that apply other schemas to the same value, and for members and items that no other keyword looked at.

internal import Events

extension SchemaChecker {
    /// Checks a value whose schema needs to know which members or items were looked at, or which resources the check has entered.
    @inline(never) mutating func visitSlowly(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ seen: Seen?) -> Bytes? {
        let entersResource = isDynamic && scope.last != rule.pointee.resource
        if entersResource { scope.append(rule.pointee.resource) }
        defer { if entersResource { scope.removeLast() } }
        guard rule.pointee.tracksRest, p[0] == UInt8(ascii: "{") || p[0] == UInt8(ascii: "[") else {
            let end = visitValue(rule, p, seen)
            guard let end, rule.pointee.isCombined else { return end }
            return combine(rule, p, seen) ? end : nil
        }
        let count = SchemaChecker.children(p)
        guard take(count, p) else { return nil }
        let own = SchemaChecker.makeSeen(count)
        defer { own.flags.deallocate() }
        guard let end = visitValue(rule, p, own) else { return nil }
        if rule.pointee.isCombined, !combine(rule, p, own) { return nil }
        guard checkRest(rule, p, own) else { return nil }
        if let seen { SchemaChecker.add(own, to: seen) }
        return end
    }

    /// Checks the members or items that no other keyword looked at.
    private mutating func checkRest(_ rule: UnsafePointer<SchemaRule>, _ start: Bytes, _ seen: Seen) -> Bool {
        let isObject = start[0] == UInt8(ascii: "{")
        let schema = isObject ? rule.pointee.unevaluatedProperties : rule.pointee.unevaluatedItems
        guard schema >= 0 else { return true }
        var p = skipSpace(start + 1)
        for index in 0..<seen.count {
            if isObject { p = skipSpace(skipSpace(stringEnd(p)) + 1) }
            if !seen.flags[index] {
                if visit(schema, p, nil) == nil {
                    if !rules[schema].isSatisfiable { _ = rename(to: isObject ? .unevaluatedProperties : .unevaluatedItems, p) }
                    return false
                }
                seen.note(index)
            }
            p = skipSpace(skipSpace(valueEnd(p)) + 1)
        }
        return true
    }

    private static func children(_ start: Bytes) -> Int {
        let isObject = start[0] == UInt8(ascii: "{")
        var p = skipSpace(start + 1)
        var count = 0
        while p[0] != UInt8(ascii: "}"), p[0] != UInt8(ascii: "]") {
            if isObject { p = skipSpace(skipSpace(stringEnd(p)) + 1) }
            count += 1
            p = skipSpace(valueEnd(p))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return count
    }

    private static func makeSeen(_ count: Int) -> Seen {
        let flags = UnsafeMutablePointer<Bool>.allocate(capacity: max(1, count))
        flags.initialize(repeating: false, count: count)
        return Seen(flags: flags, count: count)
    }

    private static func add(_ new: Seen, to seen: Seen) {
        assert(new.count == seen.count, "two objects are taken for one")
        for index in 0..<new.count where new.flags[index] { seen.flags[index] = true }
    }

    // MARK: - Combinations

    /// Returns true if the value satisfies the keywords that apply other schemas to it.
    @inline(never) mutating func combine(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ seen: Seen?) -> Bool {
        guard depth < SchemaChecker.deepest else { return fail(.depth, p) != nil }
        depth += 1
        defer { depth -= 1 }
        let rule = rule.pointee
        if rule.reference >= 0, visit(target(of: rule), p, seen) == nil { return false }
        for schema in rule.allOf where visit(schema, p, seen) == nil { return false }
        if !rule.anyOf.isEmpty, !checkAny(rule.anyOf, p, seen) { return false }
        if !rule.oneOf.isEmpty, !checkOne(rule.oneOf, p, seen) { return false }
        if rule.not >= 0 {
            let holds = attempt(rule.not, p, nil)
            if isExhausted { return false }
            if holds { return fail(.not, p) != nil }
        }
        if rule.condition >= 0 {
            let holds = attempt(rule.condition, p, seen)
            if isExhausted { return false }
            let branch = holds ? rule.consequence : rule.alternative
            if branch >= 0, visit(branch, p, seen) == nil { return false }
        }
        if p[0] == UInt8(ascii: "{") {
            for dependent in rule.dependents where has(dependent.key, in: p) {
                guard take(1 + dependent.required.count, p) else { return false }
                for key in dependent.required where !has(key, in: p) { return fail(.dependentRequired, p, missing: key) != nil }
                if dependent.schema >= 0, visit(dependent.schema, p, seen) == nil { return false }
            }
        }
        return true
    }

    /// Returns true if the value satisfies the schema. If it does not, no violation is noted and nothing counts as looked at.
    private mutating func attempt(_ schema: Int, _ p: Bytes, _ seen: Seen?) -> Bool {
        guard let seen else { return attemptAlone(schema, p, nil) }
        guard take(seen.count, p) else { return false }
        let own = SchemaChecker.makeSeen(seen.count)
        defer { own.flags.deallocate() }
        guard attemptAlone(schema, p, own) else { return false }
        SchemaChecker.add(own, to: seen)
        return true
    }

    private mutating func attemptAlone(_ schema: Int, _ p: Bytes, _ own: Seen?) -> Bool {
        let holds = visit(schema, p, own) != nil
        if !holds, !isExhausted { violation = nil }
        return holds
    }

    private mutating func checkAny(_ schemas: UnsafeBufferPointer<Int>, _ p: Bytes, _ seen: Seen?) -> Bool {
        var holds = false
        for schema in schemas {
            if attempt(schema, p, seen) {
                holds = true
                // The others matter only for the members that they look at.
                if seen == nil { return true }
            }
            if isExhausted { return false }
        }
        return holds || fail(.anyOf, p) != nil
    }

    private mutating func checkOne(_ schemas: UnsafeBufferPointer<Int>, _ p: Bytes, _ seen: Seen?) -> Bool {
        var count = 0
        for schema in schemas {
            if attempt(schema, p, seen) { count += 1 }
            if isExhausted { return false }
            if count > 1 { break }
        }
        return count == 1 || fail(.oneOf, p) != nil
    }

    /// Returns the schema that a reference means. A dynamic one means the schema of that name in the outermost resource that has one.
    private func target(of rule: SchemaRule) -> Int {
        guard rule.dynamicName >= 0 else { return rule.reference }
        for resource in scope {
            for place in schema.dynamicPlaces where place.name == rule.dynamicName && place.resource == resource { return place.schema }
        }
        return rule.reference
    }

    // MARK: - Equality

    /// Returns true if two values are equal as JSON. It takes steps.
    mutating func equals(_ a: Bytes, _ b: Bytes) -> Bool {
        switch a[0] {
        case UInt8(ascii: "\""):
            guard b[0] == UInt8(ascii: "\"") else { return false }
            let (a, b) = (ByteRun(base: a + 1, count: stringEnd(a) - a - 2), ByteRun(base: b + 1, count: stringEnd(b) - b - 2))
            if a == b { return true }
            guard a.hasEscape || b.hasEscape else { return false }
            return SchemaChecker.withKey(a) { a in SchemaChecker.withKey(b) { b in a == b } }
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): return a[0] == b[0]
        case UInt8(ascii: "{"): return b[0] == UInt8(ascii: "{") && equalObjects(a, b)
        case UInt8(ascii: "["): return b[0] == UInt8(ascii: "[") && equalLists(a, b)
        default:
            guard ByteRun(base: b, count: 1).isNumber else { return false }
            return Number.same(SchemaChecker.number(a), SchemaChecker.number(b))
        }
    }

    private static func number(_ p: Bytes) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: p, count: valueEnd(p) - p) }

    private mutating func equalObjects(_ a: Bytes, _ b: Bytes) -> Bool {
        let count = SchemaChecker.children(a)
        guard count == SchemaChecker.children(b), take(count * count + 1, a), depth < SchemaChecker.deepest else { return false }
        depth += 1
        defer { depth -= 1 }
        var p = skipSpace(a + 1)
        for _ in 0..<count {
            let end = stringEnd(p)
            let other = SchemaChecker.withKey(ByteRun(base: p + 1, count: end - p - 2)) { member($0, in: b) }
            p = skipSpace(skipSpace(end) + 1)
            guard let other, equals(p, other) else { return false }
            p = skipSpace(skipSpace(valueEnd(p)) + 1)
        }
        return true
    }

    private mutating func equalLists(_ a: Bytes, _ b: Bytes) -> Bool {
        let count = SchemaChecker.children(a)
        guard count == SchemaChecker.children(b), take(count + 1, a), depth < SchemaChecker.deepest else { return false }
        depth += 1
        defer { depth -= 1 }
        var (p, q) = (skipSpace(a + 1), skipSpace(b + 1))
        for _ in 0..<count {
            guard equals(p, q) else { return false }
            p = skipSpace(skipSpace(valueEnd(p)) + 1)
            q = skipSpace(skipSpace(valueEnd(q)) + 1)
        }
        return true
    }
}
