// What a filter says of the events that it takes, as far as that follows from the file: globs on the name, and the values that members must
// have. Of `where` it knows only the equalities that alone decide. It claims nothing that an expression could make untrue. It never changes
// after it was made; it is a class because each filter is compared with all others, and a struct of its size would be copied each time.

internal import Events
internal import Expressions
internal import Plans

final class EventFilter {
    /// The globs on the name, one of which must match. If there are none, every event passes, even one without a name.
    let events: [Pattern]
    let names: [Glob]
    /// The values of which a member must have one.
    private(set) var values: [Path: [Scalar]] = [:]
    let not: ExclusionPlan
    private let excluded: [Pattern]
    /// True if an expression decides too, by more than by equalities.
    let hasCondition: Bool
    /// The parts of expressions that are true, or false, for each event that passes.
    private let parts: Set<ConditionPart>
    /// Those that say nothing but that a member has one of these values. They are found once, since each filter is compared with all others.
    private let equalParts: [ConditionPart: Equality]
    /// Why no event can pass. It is nil if one may.
    private(set) var contradiction: String?

    init(events: [Glob], match: [MatchPlan], not: ExclusionPlan, condition: Expression?) {
        names = events
        self.events = events.map(Pattern.init)
        self.not = not
        excluded = not.events.map(Pattern.init)
        let demanded = (condition?.conjuncts ?? []).map(EventFilter.bare)
        let parts = Set(demanded + (not.condition?.disjunctsDenied ?? []).map(EventFilter.bare))
        let equalParts = Dictionary(uniqueKeysWithValues: parts.compactMap { part in EventFilter.equality(part).map { (part, $0) } })
        (self.parts, self.equalParts) = (parts, equalParts)
        hasCondition = not.condition != nil || !demanded.allSatisfy { equalParts[$0] != nil }
        for one in match { values[one.path] = one.anyOf }
        contradiction = nil
        for (path, needed) in condition.map(EventFilter.equalities) ?? [] { demand(path, needed) }
        if contradiction == nil { contradiction = exclusion(condition) }
    }

    convenience init(_ route: RoutePlan) {
        self.init(events: route.events, match: route.match, not: route.not, condition: route.condition)
    }

    convenience init(_ shape: ShapePlan) {
        self.init(events: shape.events, match: shape.match, not: shape.not, condition: shape.condition)
    }

    private func demand(_ path: Path, _ needed: [Scalar]) {
        guard let known = values[path] else {
            values[path] = needed
            return
        }
        let common = known.filter { value in needed.contains { $0.equals(value) } }
        if common.isEmpty, contradiction == nil { contradiction = "'where' and the rest demand different values of \(path)" }
        values[path] = common
    }

    private func exclusion(_ condition: Expression?) -> String? {
        if let condition, case .success(.bool(false)) = condition.value(of: [:]) { return "'where' is always false" }
        if let condition = not.condition, case .success(.bool(true)) = condition.value(of: [:]) { return "'not.where' is always true" }
        if let part = parts.first(where: { !$0.isNegated && parts.contains($0.opposite) }) {
            return "it demands that \(part.text) is true and that it is false"
        }
        if !events.isEmpty, events.allSatisfy({ one in excluded.contains { $0.covers(one) } }) {
            return "'not.events' excludes all of 'events'"
        }
        if excluded.contains(where: { $0.symbols == [nil] }), events.isEmpty, values[EventFilter.name] != nil {
            return "'not.events' excludes every name"
        }
        for match in not.match {
            guard let needed = values[match.path] else { continue }
            if needed.allSatisfy({ value in match.anyOf.contains { $0.equals(value) } }) {
                return "'not.match' excludes every value of \(match.path) that is demanded"
            }
        }
        // A name that is demanded as a member must also match the globs.
        if let names = values[EventFilter.name], !events.isEmpty {
            let fits = names.contains { name in
                if case .string(let text) = name { events.contains { $0.matches(Array(text.utf8)) } } else { false }
            }
            if !fits { return "'events' matches none of the names that are demanded of the member event" }
        }
        return nil
    }

    static let name = Path(keys: ["event"])

    /// Returns the equalities that alone make the condition false.
    static func equalities(_ condition: Expression) -> [(Path, [Scalar])] {
        let trie = PathTrie(condition.paths)
        return ExpressionSet([condition], paths: trie).guards(of: 0).map { found in
            (
                trie.path(of: found.slot),
                found.values.map { value in
                    switch value {
                    case .text(let bytes): .string(String(decoding: bytes, as: UTF8.self))
                    case .integer(let number): .number("\(number)")
                    case .word(let bytes): bytes == Array("null".utf8) ? .null : .bool(bytes == Array("true".utf8))
                    }
                }
            )
        }
    }

    /// Returns the part without brackets around it. If the text between them is an expression, they belong to each other.
    private static func bare(_ part: ConditionPart) -> ConditionPart {
        guard part.text.hasPrefix("("), part.text.hasSuffix(")"), let inner = try? Expression(String(part.text.dropFirst().dropLast()))
        else { return part }
        let parts = inner.conjuncts
        guard parts.count == 1, var only = parts.first else { return part }
        only.isNegated = only.isNegated != part.isNegated
        return bare(only)
    }

    /// Returns the member and its values if the part says nothing but that the member has one of them.
    private static func equality(_ part: ConditionPart) -> Equality? {
        guard !part.isNegated, let expression = try? Expression(part.text) else { return nil }
        let trie = PathTrie(expression.paths)
        let guards = ExpressionSet([expression], paths: trie).guards(of: 0)
        guard guards.count == 1, guards[0].isWhole else { return nil }
        return equalities(expression).first.map { Equality(path: $0.0, values: $0.1) }
    }

    private struct Equality {
        var path: Path
        var values: [Scalar]
    }

    // MARK: - Two filters

    /// Returns true if this filter surely takes every event that the other one takes.
    func covers(_ other: EventFilter) -> Bool {
        if !events.isEmpty {
            guard !other.events.isEmpty, other.events.allSatisfy({ one in events.contains { $0.covers(one) } }) else { return false }
        }
        guard parts.allSatisfy({ other.guarantees($0, equalParts[$0]) }), lets(other) else { return false }
        return values.allSatisfy { path, allowed in
            guard let theirs = other.values[path] else { return false }
            return theirs.allSatisfy { value in allowed.contains { $0.equals(value) } }
        }
    }

    /// Returns true if the part surely holds for each event that passes. `demand` is what it says of one member, if it says nothing else.
    private func guarantees(_ part: ConditionPart, _ demand: Equality?) -> Bool {
        if parts.contains(part) { return true }
        guard let demand, let own = values[demand.path], !own.isEmpty else { return false }
        return own.allSatisfy { value in demand.values.contains(value) }
    }

    /// Returns true if `not` surely excludes no event that passes the other filter. Its expression is one of the parts.
    private func lets(_ other: EventFilter) -> Bool {
        let names = excluded.allSatisfy { glob in
            other.excluded.contains { $0.covers(glob) } || !other.events.isEmpty && !other.events.contains { $0.common(glob) != nil }
        }
        guard names else { return false }
        return not.match.allSatisfy { match in
            if let demanded = other.values[match.path] { return !demanded.contains { value in match.anyOf.contains { $0.equals(value) } } }
            let theirs = other.not.match.filter { $0.path == match.path }.flatMap(\.anyOf)
            return match.anyOf.allSatisfy(theirs.contains)
        }
    }

    /// Returns an event that both filters surely take, in words. Returns nil if there is none, or if an expression decides.
    func common(_ other: EventFilter) -> String? {
        guard !hasCondition, !other.hasCondition, contradiction == nil, other.contradiction == nil else { return nil }
        let paths = Set(values.keys).union(other.values.keys)
        // A member cannot have a value and members of its own.
        guard !paths.contains(where: { one in paths.contains { $0 != one && $0.holds(one) } }) else { return nil }
        var parts: [String] = []
        var shared = values
        for (path, theirs) in other.values {
            guard let mine = shared[path] else {
                shared[path] = theirs
                continue
            }
            shared[path] = mine.filter { value in theirs.contains { $0.equals(value) } }
        }
        for (path, choices) in shared.sorted(by: { $0.key.description < $1.key.description }) {
            let excluded = (not.match + other.not.match).filter { $0.path == path }.flatMap(\.anyOf)
            guard let value = choices.first(where: { value in !excluded.contains { $0.equals(value) } }) else { return nil }
            parts.append("\(path) is \(value.words)")
        }
        switch commonName(other) {
        case .none: return nil
        case .any: if parts.isEmpty { parts = ["any event"] }
        case .named(let name): parts.insert("event is '\(name)'", at: 0)
        }
        return parts.joined(separator: ", ")
    }

    private enum CommonName {
        case none
        case any
        case named(String)
    }

    private func commonName(_ other: EventFilter) -> CommonName {
        func isAllowed(_ name: [UInt8]) -> Bool { !(excluded + other.excluded).contains { $0.matches(name) } }
        if events.isEmpty, other.events.isEmpty { return .any }
        let all = Pattern(Glob("*"))
        for mine in events.isEmpty ? [all] : events {
            for theirs in other.events.isEmpty ? [all] : other.events {
                guard let name = mine.common(theirs) else { continue }
                // A glob that ends with a star matches longer names too, which may be allowed where the shortest is not.
                for name in [name, name + Array("x".utf8)] where mine.matches(name) && theirs.matches(name) && isAllowed(name) {
                    return .named(String(decoding: name, as: UTF8.self))
                }
            }
        }
        return .none
    }

    /// Returns true if surely no event passes both filters.
    func isDisjoint(from other: EventFilter) -> Bool {
        if contradiction != nil || other.contradiction != nil { return true }
        if parts.contains(where: { other.parts.contains($0.opposite) && !$0.dependsOnWay }) { return true }
        if !events.isEmpty, !other.events.isEmpty, !events.contains(where: { one in other.events.contains { one.common($0) != nil } }) {
            return true
        }
        if !events.isEmpty, events.allSatisfy({ one in other.excluded.contains { $0.covers(one) } }) { return true }
        return values.contains { path, mine in
            guard let theirs = other.values[path] else {
                let excluded = other.not.match.filter { $0.path == path }.flatMap(\.anyOf)
                return !mine.isEmpty && mine.allSatisfy { value in excluded.contains { $0.equals(value) } }
            }
            return !mine.contains { value in theirs.contains { $0.equals(value) } }
        }
    }
}

extension Scalar {
    /// Numbers are equal if their values are.
    func equals(_ other: Scalar) -> Bool {
        if case .number(let a) = self, case .number(let b) = other { return a == b || Double(a) == Double(b) }
        return self == other
    }

    var words: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let text): text
        case .string(let text): "'\(text)'"
        }
    }
}
