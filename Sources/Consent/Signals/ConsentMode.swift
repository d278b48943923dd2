// Google's consent mode: four signals, each granted or denied. All other names are ignored.

public struct ConsentMode: BitwiseCopyable {
    public struct Signals: OptionSet, BitwiseCopyable, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let adStorage = Signals(rawValue: 1)
        public static let analyticsStorage = Signals(rawValue: 2)
        public static let adUserData = Signals(rawValue: 4)
        public static let adPersonalization = Signals(rawValue: 8)

        /// Returns nil if the name is not one of the four signals.
        public init?(_ name: UnsafeBufferPointer<UInt8>) {
            switch name.count {
            case 10 where name.spells("ad_storage"): self = .adStorage
            case 12 where name.spells("ad_user_data"): self = .adUserData
            case 17 where name.spells("analytics_storage"): self = .analyticsStorage
            case 18 where name.spells("ad_personalization"): self = .adPersonalization
            default: return nil
            }
        }
    }

    /// The signals that were given. A signal that was both granted and denied is denied.
    public private(set) var said: Signals = []
    private var denied: Signals = []

    public init() {}

    public var granted: Signals {
        assert(said.isSuperset(of: denied), "a signal was denied that was not given")
        return said.subtracting(denied)
    }

    /// Notes a signal. Returns false if the value is neither granted nor denied.
    public mutating func note(_ signal: Signals, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        if value.spells("denied") {
            denied.formUnion(signal)
        } else if !value.spells("granted") {
            return false
        }
        said.formUnion(signal)
        return true
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func spells(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        for i in 0..<count where self[i] != word.utf8Start[i] { return false }
        return true
    }
}
