// What consent that others write means here: `map` of the consent section.

public struct ConsentMapPlan: Sendable, Equatable {
    /// One purpose, and what it takes of the other's.
    public struct Entry<Meaning: Sendable & Equatable>: Sendable, Equatable {
        public var purpose: String
        public var meaning: Meaning
        public init(_ purpose: String, _ meaning: Meaning) {
            self.purpose = purpose
            self.meaning = meaning
        }
    }

    public struct TCF: Sendable, Equatable {
        /// All of these must be allowed.
        public var purposes: [Int] = []
        /// nil: the person's word alone counts.
        public var vendor: Int?
        /// Any of these will do.
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
    /// Any of these refuses the purpose.
    public var gpp: [Entry<[OptOut]>] = []
    /// All of these must be granted.
    public var google: [Entry<[Google]>] = []
    /// Names that mean the purpose as its own does.
    public var categories: [Entry<[String]>] = []

    public init() {}
}
