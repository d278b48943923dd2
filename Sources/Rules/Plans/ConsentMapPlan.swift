// The meaning of consent in the formats of other platforms: `map` of the consent section.

public struct ConsentMapPlan: Sendable, Equatable {
    /// One purpose, with its meaning in the other format.
    public struct Entry<Meaning: Sendable & Equatable>: Sendable, Equatable {
        public var purpose: String
        public var meaning: Meaning
        public init(_ purpose: String, _ meaning: Meaning) {
            self.purpose = purpose
            self.meaning = meaning
        }
    }

    public struct TCF: Sendable, Equatable {
        /// The purposes of TCF. All of them must be allowed.
        public var purposes: [Int] = []
        /// The vendor that must be allowed too. If it is nil, no vendor is checked.
        public var vendor: Int?
        /// The legal bases. Any of them is enough.
        public var bases = [Basis.consent]
        public init() {}
    }

    public enum Basis: String, Sendable, CaseIterable {
        case consent
        case legitimateInterest = "legitimate_interest"
    }

    public enum OptOut: String, Sendable, CaseIterable {
        case sale, sharing
        case targetedAdvertising = "targeted_advertising"
        case sensitiveData = "sensitive_data"
    }

    /// The signals of Google's consent mode.
    public enum Google: String, Sendable, CaseIterable {
        case adStorage = "ad_storage"
        case analyticsStorage = "analytics_storage"
        case adUserData = "ad_user_data"
        case adPersonalization = "ad_personalization"
    }

    public var tcf: [Entry<TCF>] = []
    /// The opt-outs. Any of them refuses the purpose.
    public var gpp: [Entry<[OptOut]>] = []
    /// The signals. All of them must be granted.
    public var google: [Entry<[Google]>] = []
    /// Other names of the purpose, which mean the same as its own.
    public var categories: [Entry<[String]>] = []

    public init() {}
}
