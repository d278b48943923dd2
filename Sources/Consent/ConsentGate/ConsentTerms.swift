// The terms of a decision, as pure values with the names of the configuration. The gate, which knows the plan's levels, decides whether
// they are enough for an event.

/// The consent and the refusals of a person, by the names of the configuration.
public struct ConsentTerms: Hashable, Sendable {
    /// True if everything is refused, including levels and purposes that are defined later. Then all other members are empty.
    public let isWithdrawn: Bool
    /// The level. It is nil if the decision names none. A denied purpose is denied at every level.
    public let level: String?
    /// The granted purposes, sorted and without duplicates. None of them is denied.
    public let granted: [String]
    /// The denied purposes, sorted and without duplicates.
    public let denied: [String]
    /// The version of the text that was agreed to.
    public let version: String?

    public static let withdrawn = ConsentTerms(isWithdrawn: true, level: nil, granted: [], denied: [], version: nil)

    /// Makes terms. A purpose that is both granted and denied is denied. An empty level or version counts as none.
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

    /// Returns the same terms with these purposes denied.
    public func refusing(_ purposes: [String]) -> ConsentTerms {
        isWithdrawn ? self : ConsentTerms(level: level, granted: granted, denied: denied + purposes, version: version)
    }

    /// Returns what both terms agree to, with everything that either refuses. The order of the two does not matter. `levels` goes from
    /// lowest to highest: the lower of two levels holds, and an unknown level is below all others.
    public func stricter(_ other: ConsentTerms, levels: [String]) -> ConsentTerms {
        if self == other { return self }
        if isWithdrawn || other.isWithdrawn { return .withdrawn }
        return ConsentTerms(
            level: ConsentTerms.lower(level, b: other.level, levels: levels), granted: granted.filter { other.granted.contains($0) },
            denied: denied + other.denied, version: version == other.version ? version : nil)
    }

    private static func lower(_ a: String?, b: String?, levels: [String]) -> String? {
        guard let a, let b else { return nil }
        func rank(_ level: String) -> Int { levels.firstIndex(of: level) ?? -1 }
        // Two unknown levels cannot be compared, so neither holds.
        if rank(a) == rank(b) { return a == b ? a : nil }
        return rank(a) < rank(b) ? a : b
    }
}

extension ConsentTerms: Comparable {
    /// An arbitrary order, for sorted lists.
    public static func < (a: ConsentTerms, b: ConsentTerms) -> Bool { a.sortKey.lexicographicallyPrecedes(b.sortKey) }

    private var sortKey: [String] {
        [isWithdrawn ? "0" : "1", level ?? "", version ?? "", String(granted.count)] + granted + denied
    }
}
