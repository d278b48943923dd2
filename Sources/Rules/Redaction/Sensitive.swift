// The kinds of personal data that `scrub` can find, and the settings of `scrub` without its paths.

/// A kind of personal data. The order of the cases is the order in which they are tried at one position.
public enum Sensitive: UInt8, Sendable, CaseIterable {
    case token, key, email, iban, card, nationalID, mac, ip, phone

    public var name: String {
        switch self {
        case .token: "token"
        case .key: "key"
        case .email: "email"
        case .iban: "iban"
        case .card: "card"
        case .nationalID: "national_id"
        case .mac: "mac"
        case .ip: "ip"
        case .phone: "phone"
        }
    }
}

public struct SensitiveSet: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public init(_ one: Sensitive) { rawValue = 1 << one.rawValue }

    public static let all = SensitiveSet(rawValue: 1 << UInt16(Sensitive.allCases.count) - 1)

    @inline(__always) public func contains(_ one: Sensitive) -> Bool { rawValue >> one.rawValue & 1 != 0 }
    public var list: [Sensitive] { Sensitive.allCases.filter(contains) }
}

/// The settings of `scrub` without its paths.
public struct Scrub: Sendable, Hashable {
    public enum Action: String, Sendable, CaseIterable {
        /// A text replaces the find.
        case replace
        /// The member that holds the find is removed. An element of a list becomes null, so that the others keep their positions.
        case drop
        /// The event is rejected.
        case reject
    }

    public var kinds: SensitiveSet
    /// The countries whose national ids are found.
    public var countries: CountrySet
    public var action: Action
    /// The texts that replace the finds, by `Sensitive.rawValue`.
    public var texts: [String]

    public static let defaultTexts = Sensitive.allCases.map { "[\($0.name)]" }

    public init(
        kinds: SensitiveSet = .all, countries: CountrySet = .all, action: Action = .replace, texts: [String] = Scrub.defaultTexts
    ) {
        precondition(texts.count == Sensitive.allCases.count, "a text for each kind")
        self.kinds = kinds
        self.countries = countries
        self.action = action
        self.texts = texts
    }
}
