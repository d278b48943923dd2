// The consent string of IAB Europe's Transparency and Consent Framework, version 2 (2.0 to 2.3): what a person allowed, by
// purpose and by vendor. It answers whether a purpose may be used, and by which basis.
// It promises: no string is taken that is cut off, of another version, or contradicts itself; nothing is allocated, and the
// text must live as long as the value. It knows no list of vendors: which bases a vendor registered is the caller's to say.

public struct TCString: BitwiseCopyable {
    public struct Bases: OptionSet, BitwiseCopyable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let consent = Bases(rawValue: 1)
        public static let legitimateInterest = Bases(rawValue: 2)
    }

    /// How many purposes and vendors a string can speak of.
    public static let purposes = 1...24
    public static let vendors = 1...65_535

    /// In tenths of a second since 1970.
    public let created: Int
    public let updated: Int
    /// Which consent platform wrote it.
    public let cmp: Int
    public let policyVersion: Int
    private let specialFeatures: Int
    private let consents: Int
    private let interests: Int
    private let vendorConsents: VendorSet
    private let vendorInterests: VendorSet
    private let restrictions: Restrictions
    /// nil: it does not say which vendors the person was shown.
    private let disclosed: VendorSet?

    /// nil: broken.
    public init?(_ text: UnsafeBufferPointer<UInt8>) {
        var segments = Parts(of: text, at: UInt8(ascii: "."))
        guard let core = segments.next(), var bits = Bits(core), bits.take(6) == 2 else { return nil }
        created = bits.take(36)
        updated = bits.take(36)
        cmp = bits.take(12)
        // The platform's version, screen and language, and the version of the list of vendors.
        bits.skip(12 + 6 + 12 + 12)
        policyVersion = bits.take(6)
        // A string that holds for more than one service is no longer valid.
        guard bits.takeFlag() else { return nil }
        bits.skip(1)
        specialFeatures = bits.take(12)
        consents = bits.take(24)
        interests = bits.take(24)
        // How purpose 1 was treated, and the publisher's country.
        bits.skip(1 + 12)
        guard let vendorConsents = VendorSet(&bits), let vendorInterests = VendorSet(&bits), let restrictions = Restrictions(&bits),
            !bits.isOverrun, bits.endsInZeros, let others = Segments(&segments)
        else { return nil }
        self.vendorConsents = vendorConsents
        self.vendorInterests = vendorInterests
        self.restrictions = restrictions
        disclosed = others.disclosed
    }

    /// Whether the purpose may be used by one of these bases; for a vendor, by a basis that the person and the publisher left
    /// to that vendor.
    public func allows(_ purpose: Int, vendor: Int? = nil, by bases: Bases) -> Bool {
        guard TCString.purposes.contains(purpose) else { return false }
        var left = bases
        if !TCString.contains(consents, purpose, of: 24) { left.remove(.consent) }
        if !hasInterest(purpose) { left.remove(.legitimateInterest) }
        guard let vendor, !left.isEmpty else { return !left.isEmpty }

        if let disclosed, !disclosed.contains(vendor) { return false }
        if left.contains(.consent), !vendorConsents.contains(vendor) { left.remove(.consent) }
        if left.contains(.legitimateInterest), !vendorInterests.contains(vendor) { left.remove(.legitimateInterest) }
        restrictions.narrow(&left, purpose, vendor)
        return !left.isEmpty
    }

    public func allows(specialFeature: Int) -> Bool {
        (1...12).contains(specialFeature) && TCString.contains(specialFeatures, specialFeature, of: 12)
    }

    /// Nobody has a legitimate interest in access to a device, nor, since policy version 4 (2.2), in profiles and what is
    /// chosen by them: such a bit is a mistake of who wrote it.
    private func hasInterest(_ purpose: Int) -> Bool {
        if purpose == 1 || policyVersion >= 4 && (3...6).contains(purpose) { return false }
        return TCString.contains(interests, purpose, of: 24)
    }

    private static func contains(_ field: Int, _ number: Int, of width: Int) -> Bool { field >> (width - number) & 1 == 1 }
}

/// What a publisher took from vendors, purpose by purpose.
struct Restrictions: BitwiseCopyable {
    private let entries: Bits
    private let count: Int

    init?(_ bits: inout Bits) {
        count = bits.take(12)
        entries = bits
        for _ in 0..<count {
            guard let entry = Entry(&bits), TCString.purposes.contains(entry.purpose), entry.kind < 3 else { return nil }
        }
    }

    func narrow(_ bases: inout TCString.Bases, _ purpose: Int, _ vendor: Int) {
        var bits = entries
        for _ in 0..<count {
            guard let entry = Entry(&bits), entry.purpose == purpose, entry.vendors.contains(vendor) else { continue }
            switch entry.kind {
            case 1: bases.remove(.legitimateInterest)
            case 2: bases.remove(.consent)
            default: bases = []
            }
        }
    }

    private struct Entry {
        let purpose: Int
        /// 0: not allowed; 1: by consent only; 2: by legitimate interest only.
        let kind: Int
        let vendors: VendorRanges

        init?(_ bits: inout Bits) {
            purpose = bits.take(6)
            kind = bits.take(2)
            guard let vendors = VendorRanges(&bits, upTo: TCString.vendors.upperBound) else { return nil }
            self.vendors = vendors
        }
    }
}

/// What follows the core, each kind once and in any order.
private struct Segments {
    private(set) var disclosed: VendorSet?

    /// nil: one is broken, or of no known kind.
    init?(_ segments: inout Parts) {
        var seen = 0
        while let segment = segments.next() {
            guard var bits = Bits(segment) else { return nil }
            let kind = bits.take(3)
            guard seen & 1 << kind == 0 else { return nil }
            seen |= 1 << kind
            switch kind {
            // Vendors that were shown; and those allowed out of band, which ended with 2.2.
            case 1, 2:
                guard let vendors = VendorSet(&bits) else { return nil }
                if kind == 1 { disclosed = vendors }
            // The publisher's own purposes: consents and interests, then as many of each as it has purposes of its own.
            case 3:
                bits.skip(24 + 24)
                bits.skip(2 * bits.take(6))
            default: return nil
            }
            guard !bits.isOverrun, bits.endsInZeros else { return nil }
        }
    }
}
