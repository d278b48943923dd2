// Reads sets of vendors as a TC string writes them: one bit for each vendor, or ranges. A set is checked once, and then read in place for
// each question.

/// Vendors as single ids and ranges of ids.
struct VendorRanges: BitwiseCopyable {
    /// The bits, at the first entry.
    private let entries: Bits
    private let count: Int

    /// Reads the ranges from `bits`. Returns nil if they are cut off, reversed, or contain a number outside 1 to `last`.
    init?(_ bits: inout Bits, upTo last: Int) {
        count = bits.take(12)
        entries = bits
        for _ in 0..<count {
            let range = VendorRanges.take(&bits)
            guard !bits.isOverrun, range.first > 0, range.first <= range.last, range.last <= last else { return nil }
        }
        if bits.isOverrun { return nil }
    }

    func contains(_ vendor: Int) -> Bool {
        var bits = entries
        for _ in 0..<count {
            let range = VendorRanges.take(&bits)
            assert(range.first <= range.last && !bits.isOverrun, "a range was not checked when it was first read")
            if range.first <= vendor, vendor <= range.last { return true }
        }
        return false
    }

    private static func take(_ bits: inout Bits) -> (first: Int, last: Int) {
        let isRange = bits.takeFlag()
        let first = bits.take(16)
        return (first, isRange ? bits.take(16) : first)
    }
}

struct VendorSet: BitwiseCopyable {
    private enum Coding: BitwiseCopyable {
        case field(Bits)
        case ranges(VendorRanges)
    }

    private let last: Int
    private let coding: Coding

    /// Reads a set from `bits`. Returns nil if it is broken.
    init?(_ bits: inout Bits) {
        last = bits.take(16)
        if bits.takeFlag() {
            guard let ranges = VendorRanges(&bits, upTo: last) else { return nil }
            coding = .ranges(ranges)
        } else {
            coding = .field(bits)
            bits.skip(last)
        }
        if bits.isOverrun { return nil }
    }

    func contains(_ vendor: Int) -> Bool {
        guard vendor >= 1, vendor <= last else { return false }
        switch coding {
        case .field(let bits): return bits.flag(ahead: vendor - 1)
        case .ranges(let ranges): return ranges.contains(vendor)
        }
    }
}
