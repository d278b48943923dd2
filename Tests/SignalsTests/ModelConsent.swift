// A model of a TC string as sets. `BitWriter` writes it, and `allows` follows the words of the specification.

struct ModelConsent {
    var version = 2
    var created = 16_504_920_000
    var updated = 16_504_920_000
    var policy = 2
    var isServiceSpecific = true
    var features: Set<Int> = []
    var purposes: Set<Int> = []
    var interests: Set<Int> = []
    var vendors: Set<Int> = []
    var vendorInterests: Set<Int> = []
    var restrictions: [(purpose: Int, kind: Int, vendors: Set<Int>)] = []
    var disclosed: Set<Int>?
    var isRanged = (vendors: false, interests: false, disclosed: false)

    var core: BitWriter {
        var bits = BitWriter()
        bits.put(version, 6)
        bits.put(created, 36)
        bits.put(updated, 36)
        bits.put(31, 12)
        bits.put(640, 12)
        bits.put(1, 6)
        bits.put(4, 6)
        bits.put(13, 6)
        bits.put(126, 12)
        bits.put(policy, 6)
        bits.put(isServiceSpecific)
        bits.put(false)
        bits.putFlags(features, 1...12)
        bits.putFlags(purposes, 1...24)
        bits.putFlags(interests, 1...24)
        bits.put(false)
        bits.put(3, 6)
        bits.put(4, 6)
        if isRanged.vendors { bits.putRanges(vendors) } else { bits.putField(vendors) }
        if isRanged.interests { bits.putRanges(vendorInterests) } else { bits.putField(vendorInterests) }
        bits.put(restrictions.count, 12)
        for restriction in restrictions {
            bits.put(restriction.purpose, 6)
            bits.put(restriction.kind, 2)
            bits.putEntries(restriction.vendors)
        }
        return bits
    }

    var text: String {
        guard let disclosed else { return core.text }
        var bits = BitWriter()
        bits.put(1, 3)
        if isRanged.disclosed { bits.putRanges(disclosed) } else { bits.putField(disclosed) }
        return core.text + "." + bits.text
    }

    func allows(_ purpose: Int, vendor: Int?, consent: Bool, interest: Bool) -> Bool {
        var (consent, interest) = (consent && purposes.contains(purpose), interest && interests.contains(purpose))
        if purpose == 1 { interest = false }
        if policy >= 4, [3, 4, 5, 6].contains(purpose) { interest = false }
        if let vendor {
            if disclosed?.contains(vendor) == false { return false }
            consent = consent && vendors.contains(vendor)
            interest = interest && vendorInterests.contains(vendor)
            let kinds = restrictions.filter { $0.purpose == purpose && $0.vendors.contains(vendor) }.map(\.kind)
            if kinds.contains(0) { return false }
            if kinds.contains(1) { interest = false }
            if kinds.contains(2) { consent = false }
        }
        return consent || interest
    }
}
