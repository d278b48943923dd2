// Reads the consent string of IAB Europe's Transparency and Consent Framework, version 2 (2.0 to 2.3): what a person allowed, by purpose
// and by vendor. It answers whether a purpose may be used, and on which legal basis.
// A string that is cut off, has another version or contradicts itself is refused. Nothing is allocated, and the text must live as long as
// the value. The reader has no vendor list: the caller must know the legal bases that a vendor registered.

public struct TCString: BitwiseCopyable {
    public struct Bases: OptionSet, BitwiseCopyable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let consent = Bases(rawValue: 1)
        public static let legitimateInterest = Bases(rawValue: 2)
        /// Implied consent, which only TCF Canada has.
        public static let impliedConsent = Bases(rawValue: 4)
    }

    /// The numbers of purposes and vendors that a string can contain.
    public static let purposes = 1...24
    public static let vendors = 1...65_535

    /// The time of creation, in tenths of a second since 1970.
    public let created: Int
    public let updated: Int
    /// The id of the consent platform that wrote the string.
    public let cmp: Int
    public let policyVersion: Int
    private let specialFeatures: Int
    private let consents: Int
    private let interests: Int
    private let vendorConsents: VendorSet
    private let vendorInterests: VendorSet
    private let restrictions: Restrictions
    /// The vendors that were shown to the person. It is nil if the string does not say.
    private let disclosed: VendorSet?

    /// Returns nil if the string is broken.
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

    /// Returns true if the purpose may be used on one of these bases. For a vendor, the basis must also be one that the person and the
    /// publisher left to the vendor.
    public func allows(_ purpose: Int, vendor: Int? = nil, by bases: Bases) -> Bool {
        guard TCString.purposes.contains(purpose) else { return false }
        var left = bases.intersection([.consent, .legitimateInterest])
        if !TCString.contains(consents, purpose, of: 24) { left.remove(.consent) }
        if !hasInterest(purpose) { left.remove(.legitimateInterest) }
        guard let vendor, !left.isEmpty else { return !left.isEmpty }

        if let disclosed, !disclosed.contains(vendor) { return false }
        if left.contains(.consent), !vendorConsents.contains(vendor) { left.remove(.consent) }
        if left.contains(.legitimateInterest), !vendorInterests.contains(vendor) { left.remove(.legitimateInterest) }
        restrictions.narrow(&left, purpose: purpose, vendor: vendor)
        return !left.isEmpty
    }

    public func allows(specialFeature: Int) -> Bool {
        (1...12).contains(specialFeature) && TCString.contains(specialFeatures, specialFeature, of: 12)
    }

    /// Returns true if the purpose has a legitimate interest. There is none for purpose 1, and none for purposes 3 to 6 since policy
    /// version 4 (2.2): such a bit is an error of the platform and is ignored.
    private func hasInterest(_ purpose: Int) -> Bool {
        if purpose == 1 || policyVersion >= 4 && (3...6).contains(purpose) { return false }
        return TCString.contains(interests, purpose, of: 24)
    }

    private static func contains(_ field: Int, _ number: Int, of width: Int) -> Bool {
        assert((1...width).contains(number), "the field has no bit of this number")
        return field >> (width - number) & 1 == 1
    }
}

/// The publisher's restrictions, which take legal bases from vendors for single purposes.
struct Restrictions: BitwiseCopyable {
    private let entries: Bits
    private let count: Int

    private let coding: RangeCoding

    init?(_ bits: inout Bits, ranges coding: RangeCoding = .fixed) {
        self.coding = coding
        count = bits.take(12)
        entries = bits
        for _ in 0..<count {
            guard let entry = Entry(&bits, coding), TCString.purposes.contains(entry.purpose), entry.kind < 3 else { return nil }
        }
    }

    func narrow(_ bases: inout TCString.Bases, purpose: Int, vendor: Int) {
        var bits = entries
        for _ in 0..<count {
            guard let entry = Entry(&bits, coding), entry.purpose == purpose, entry.vendors.contains(vendor) else { continue }
            switch entry.kind {
            // Implied consent has the place in Canada's strings that legitimate interest has in Europe's.
            case 1: bases.subtract([.legitimateInterest, .impliedConsent])
            case 2: bases.remove(.consent)
            default: bases = []
            }
        }
    }

    private struct Entry {
        let purpose: Int
        /// The kind of restriction: 0 not allowed, 1 by consent only, 2 by legitimate interest only.
        let kind: Int
        let vendors: VendorRanges

        init?(_ bits: inout Bits, _ coding: RangeCoding) {
            purpose = bits.take(6)
            kind = bits.take(2)
            guard let vendors = VendorRanges(&bits, upTo: TCString.vendors.upperBound, coding: coding) else { return nil }
            self.vendors = vendors
        }
    }
}

/// The segments after the core. Each kind occurs at most once, in any order.
struct Segments {
    private(set) var disclosed: VendorSet?

    /// Returns nil if a segment is broken or of an unknown kind.
    init?(_ segments: inout Parts, ranges coding: RangeCoding = .fixed) {
        var seen = 0
        while let segment = segments.next() {
            guard var bits = Bits(segment) else { return nil }
            let kind = bits.take(3)
            guard seen & 1 << kind == 0 else { return nil }
            seen |= 1 << kind
            switch kind {
            // The vendors that were shown (1), and those allowed out of band (2), which ended with 2.2.
            case 1, 2:
                guard let vendors = VendorSet(&bits, ranges: coding) else { return nil }
                if kind == 1 { disclosed = vendors }
            // The publisher's consents and interests for TCF's purposes, then as many of each as the publisher has custom purposes.
            case 3:
                bits.skip(24 + 24)
                bits.skip(2 * bits.take(6))
            default: return nil
            }
            guard !bits.isOverrun, bits.endsInZeros else { return nil }
        }
    }
}
