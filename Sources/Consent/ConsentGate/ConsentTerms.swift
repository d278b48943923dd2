// What a person has said, in the words of the configuration: pure values. Whether it is enough for an event is for the gate to tell,
// which knows the plan's levels.

/// What was agreed to and what was refused, by the names of the configuration.
public struct ConsentTerms: Hashable, Sendable {
    /// Everything is refused, whatever levels and purposes there are now or later. Nothing else is said then.
    public let isWithdrawn: Bool
    /// nil: nothing was said of levels. A purpose that is denied is denied whatever the level.
    public let level: String?
    /// Sorted, each once, none of them denied.
    public let granted: [String]
    /// Sorted, each once.
    public let denied: [String]
    /// Of the text that was agreed to.
    public let version: String?

    public static let withdrawn = ConsentTerms(isWithdrawn: true, level: nil, granted: [], denied: [], version: nil)

    /// A purpose that is both granted and denied is denied; an empty level or version is none.
    public init(level: String? = nil, granted: [String] = [], denied: [String] = [], version: String? = nil) {
        let refused = Set(denied)
        self.init(
            isWithdrawn: false, level: level == "" ? nil : level, granted: Set(granted).subtracting(refused).sorted(),
            denied: refused.sorted(), version: version == "" ? nil : version)
    }

    private init(isWithdrawn: Bool, level: String?, granted: [String], denied: [String], version: String?) {
        self.isWithdrawn = isWithdrawn
        self.level = level
        self.granted = granted
        self.denied = denied
        self.version = version
    }

    /// The same, with these purposes refused.
    public func refusing(_ purposes: [String]) -> ConsentTerms {
        isWithdrawn ? self : ConsentTerms(level: level, granted: granted, denied: denied + purposes, version: version)
    }

    /// What both agree to, and all that either refuses; the order does not matter. `levels` rise: of two levels the lower
    /// one holds, and one that is not among them is below all.
    public func stricter(_ other: ConsentTerms, levels: [String]) -> ConsentTerms {
        if self == other { return self }
        if isWithdrawn || other.isWithdrawn { return .withdrawn }
        return ConsentTerms(
            level: ConsentTerms.lower(level, other.level, levels), granted: granted.filter { other.granted.contains($0) },
            denied: denied + other.denied, version: version == other.version ? version : nil)
    }

    private static func lower(_ a: String?, _ b: String?, _ levels: [String]) -> String? {
        guard let a, let b else { return nil }
        func rank(_ level: String) -> Int { levels.firstIndex(of: level) ?? -1 }
        // Of two that are not known neither may be taken for the other.
        if rank(a) == rank(b) { return a == b ? a : nil }
        return rank(a) < rank(b) ? a : b
    }
}

extension ConsentTerms: Comparable {
    /// An order for lists, without a meaning.
    public static func < (a: ConsentTerms, b: ConsentTerms) -> Bool { a.sortKey.lexicographicallyPrecedes(b.sortKey) }

    private var sortKey: [String] {
        [isWithdrawn ? "0" : "1", level ?? "", version ?? "", String(granted.count)] + granted + denied
    }
}
