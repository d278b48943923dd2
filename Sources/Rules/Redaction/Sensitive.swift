// The kinds of personal data that `scrub` can find, and the settings of `scrub` without its paths.

/// A kind of personal data. The order of the cases is the order in which they are tried at one position.
public enum Sensitive: UInt8, Sendable, CaseIterable {
    case token, email, iban, card, ip, phone

    public var name: String {
        switch self {
        case .token: "token"
        case .email: "email"
        case .iban: "iban"
        case .card: "card"
        case .ip: "ip"
        case .phone: "phone"
        }
    }
}

public struct SensitiveSet: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public init(_ one: Sensitive) { rawValue = 1 << one.rawValue }

    public static let all = SensitiveSet(rawValue: 1 << UInt8(Sensitive.allCases.count) - 1)

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
    public var action: Action
    /// The texts that replace the finds, by `Sensitive.rawValue`.
    public var texts: [String]

    public static let defaultTexts = Sensitive.allCases.map { "[\($0.name)]" }

    public init(kinds: SensitiveSet = .all, action: Action = .replace, texts: [String] = Scrub.defaultTexts) {
        precondition(texts.count == Sensitive.allCases.count, "a text for each kind")
        self.kinds = kinds
        self.action = action
        self.texts = texts
    }
}
