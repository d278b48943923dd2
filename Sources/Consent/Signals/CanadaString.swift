// Reads the section `tcfcav1` of a GPP string, the consent string of IAB Canada's Transparency and Consent Framework, version 1. It answers
// whether a purpose may be used by express consent or by implied consent.
// The specification writes the ids of vendors in Fibonacci coding. IAB's encoders wrote them in 16 bits until 2026. A string that both
// readings accept allows only what both allow; a string that neither accepts is refused. Nothing is allocated, and the text must live as
// long as the value.

public struct CanadaString: BitwiseCopyable {
    private let readings: (Reading?, Reading?)

    /// Returns nil if the string is broken.
    public init?(_ text: UnsafeBufferPointer<UInt8>) {
        readings = (Reading(text, ranges: .fibonacci), Reading(text, ranges: .fixed))
        if readings.0 == nil, readings.1 == nil { return nil }
    }

    /// Returns true if the purpose may be used on one of these bases, for a vendor if one is named.
    public func allows(_ purpose: Int, vendor: Int? = nil, by bases: TCString.Bases) -> Bool {
        guard Reading.purposes.contains(purpose) else { return false }
        func isAllowed(by reading: Reading?) -> Bool { reading?.allows(purpose, vendor: vendor, by: bases) ?? true }
        return isAllowed(by: readings.0) && isAllowed(by: readings.1)
    }

    /// What the string says if its ranges are in one coding.
    private struct Reading: BitwiseCopyable {
        static let purposes = 1...24

        let express: Int
        let implied: Int
        let vendorsExpress: VendorSet
        let vendorsImplied: VendorSet
        let restrictions: Restrictions
        /// The vendors that were shown to the person. It is nil if the string does not say.
        let disclosed: VendorSet?

        init?(_ text: UnsafeBufferPointer<UInt8>, ranges coding: RangeCoding) {
            var segments = Parts(of: text, at: UInt8(ascii: "."))
            guard let core = segments.next(), var bits = Bits(core), bits.take(6) == 1 else { return nil }
            // The times, the platform, its version, screen and language, the version of the list of vendors and of the policy, the use of
            // stacks of its own, and special features.
            bits.skip(36 + 36 + 12 + 12 + 6 + 12 + 12 + 6 + 1 + 12)
            express = bits.take(24)
            implied = bits.take(24)
            guard let vendorsExpress = VendorSet(&bits, ranges: coding), let vendorsImplied = VendorSet(&bits, ranges: coding),
                let restrictions = Restrictions(&bits, ranges: coding), !bits.isOverrun, bits.endsInZeros
            else { return nil }
            self.vendorsExpress = vendorsExpress
            self.vendorsImplied = vendorsImplied
            self.restrictions = restrictions
            guard let others = Segments(&segments, ranges: coding) else { return nil }
            disclosed = others.disclosed
        }

        func allows(_ purpose: Int, vendor: Int?, by bases: TCString.Bases) -> Bool {
            func contains(_ field: Int) -> Bool { field >> (24 - purpose) & 1 == 1 }
            var left = bases.intersection([.consent, .impliedConsent])
            if !contains(express) { left.remove(.consent) }
            if !contains(implied) { left.remove(.impliedConsent) }
            guard let vendor, !left.isEmpty else { return !left.isEmpty }
            if let disclosed, !disclosed.contains(vendor) { return false }
            if !vendorsExpress.contains(vendor) { left.remove(.consent) }
            if !vendorsImplied.contains(vendor) { left.remove(.impliedConsent) }
            restrictions.narrow(&left, purpose: purpose, vendor: vendor)
            return !left.isEmpty
        }
    }
}
