// Finds where a value that satisfies one schema can violate another one. It may claim a violation where none is possible, and never misses
// one, except that members which the first schema does not name are taken as not sent (see `PlanComparison`).

internal import Document
internal import Events

/// One demand of a schema that the other one does not have.
struct Narrowing {
    enum Kind {
        case required
        case type(String)
        case choice(String)
        /// Only some values are allowed.
        case choices
        case forbidden
        /// Members that the schema does not name are forbidden.
        case othersForbidden
        case othersShaped
        case items
        /// The keyword, and the values in the narrower and in the wider schema.
        case bound(String, narrow: String, wide: String?)
        /// A rule that cannot be compared. The values may be those of two other keywords.
        case rule(String)
    }

    var place: [String]
    var kind: Kind
}

struct NarrowingSearch {
    private(set) var found: [Narrowing] = []
    /// The members that only the narrower schema names, in objects where the wider one allows others.
    private(set) var named: [[String]] = []

    /// Stands for the items of a list in a place, as no member is named there.
    static let items = "[]"

    /// Finds what a value that satisfies `wide` may violate in `narrow`.
    mutating func search(_ wide: SchemaShape, _ narrow: SchemaShape, at place: [String]) {
        if wide.isNever { return }
        if narrow.isNever { return note(.forbidden, place) }
        types(wide, narrow, place)
        choices(wide, narrow, place)
        members(wide, narrow, place)
        if let items = narrow.items.first, !items.isAny {
            if let own = wide.items.first {
                search(own, items, at: place + [NarrowingSearch.items])
            } else if Self.allows("array", wide) {
                note(.items, place)
            }
        }
        bounds(wide, narrow, place)
        for rule in narrow.rest where !wide.rest.contains(rule) { note(.rule(rule.keyword), place) }
    }

    private mutating func note(_ kind: Narrowing.Kind, _ place: [String]) { found.append(Narrowing(place: place, kind: kind)) }

    private static func allows(_ type: String, _ shape: SchemaShape) -> Bool { shape.types?.contains(type) ?? true }

    private mutating func types(_ wide: SchemaShape, _ narrow: SchemaShape, _ place: [String]) {
        guard let allowed = narrow.types else { return }
        // "number" stands for the integers too.
        let types = wide.types ?? SchemaShape.allTypes.filter { $0 != "integer" }
        for type in types where !allowed.contains(type) && !(type == "integer" && allowed.contains("number")) {
            note(.type(type), place)
        }
    }

    private mutating func choices(_ wide: SchemaShape, _ narrow: SchemaShape, _ place: [String]) {
        guard let allowed = narrow.choices else { return }
        guard let own = wide.choices else { return note(.choices, place) }
        for choice in own where !allowed.contains(where: { sameText($0, choice) }) { note(.choice(choice), place) }
    }

    private mutating func members(_ wide: SchemaShape, _ narrow: SchemaShape, _ place: [String]) {
        for name in narrow.required where !wide.requires(name) { note(.required, place + [name]) }
        for member in narrow.members {
            if let own = wide.member(member.name) {
                search(own, member.shape, at: place + [member.name])
            } else if case .shaped(let others) = wide.others {
                search(others[0], member.shape, at: place + [member.name])
            } else if case .open = wide.others {
                if member.shape.isNever { note(.forbidden, place + [member.name]) } else { named.append(place + [member.name]) }
            }
        }
        for member in wide.members where narrow.member(member.name) == nil && !member.shape.isNever {
            switch narrow.others {
            case .open: break
            case .closed: note(.forbidden, place + [member.name])
            case .shaped(let others): search(member.shape, others[0], at: place + [member.name])
            }
        }
        switch (wide.others, narrow.others) {
        case (.closed, _), (_, .open): break
        case (_, .closed): if Self.allows("object", wide) { note(.othersForbidden, place) }
        case (.open, .shaped): if Self.allows("object", wide) { note(.othersShaped, place) }
        case (.shaped(let own), .shaped(let others)): search(own[0], others[0], at: place + ["*"])
        }
    }

    private mutating func bounds(_ wide: SchemaShape, _ narrow: SchemaShape, _ place: [String]) {
        for bound in narrow.bounds where bound.json != "false" {
            let other = wide.bounds.first { $0.keyword == bound.keyword }?.json
            if let other, Self.implies(bound.keyword, other, bound.json) { continue }
            note(.bound(bound.keyword, narrow: bound.json, wide: other), place)
        }
    }

    /// Returns true if each value that obeys the bound with `wide` obeys it with `narrow`.
    private static func implies(_ keyword: String, _ wide: String, _ narrow: String) -> Bool {
        if sameText(wide, narrow) { return true }
        let isLower = keyword.hasPrefix("min") || keyword.hasPrefix("exclusiveMin")
        guard isLower || keyword.hasPrefix("max") || keyword.hasPrefix("exclusiveMax"), let a = Double(wide), let b = Double(narrow) else {
            return false
        }
        if a == b { return same(wide, narrow) }
        return isLower ? a > b : a < b
    }

    private static func same(_ a: String, _ b: String) -> Bool {
        Array(a.utf8).withUnsafeBufferPointer { a in Array(b.utf8).withUnsafeBufferPointer { Number.same(a, $0) } }
    }
}
