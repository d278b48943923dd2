// The countries whose national ids `scrub` can find, by their code of ISO 3166.

public enum Country: String, Sendable, CaseIterable {
    case be, br, ch, cn, de, dk, es, fi, fr, gb, `in`, it, jp, kr, nl, no, pl, se, tr, us

    /// The code as the configuration writes it.
    public var code: String { rawValue.uppercased() }
}

public struct CountrySet: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public init(_ one: Country) { rawValue = 1 << UInt32(Country.allCases.firstIndex(of: one)!) }

    public var list: [Country] { Country.allCases.filter { contains(CountrySet($0)) } }

    public static let all = CountrySet(rawValue: 1 << UInt32(Country.allCases.count) - 1)
}
