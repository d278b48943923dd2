// Reads sets of vendors as a TC string writes them: one bit for each vendor, or ranges. A set is checked once, and then read in place for
// each question. Europe's strings write the ids of ranges in 16 bits. Canada's write the distance from the id before, in Fibonacci coding;
// older encoders wrote them as Europe's do.

/// How ranges write ids.
enum RangeCoding: BitwiseCopyable { case fixed, fibonacci }

/// Vendors as single ids and ranges of ids.
struct VendorRanges: BitwiseCopyable {
    /// The bits, at the first entry.
    private let entries: Bits
    private let count: Int
    private let coding: RangeCoding

    /// Reads the ranges from `bits`. Returns nil if they are cut off, reversed, or contain a number outside 1 to `last`.
    init?(_ bits: inout Bits, upTo last: Int, coding: RangeCoding) {
        self.coding = coding
        count = bits.take(12)
        entries = bits
        var before = 0
        for _ in 0..<count {
            guard let range = VendorRanges.take(&bits, coding, after: before) else { return nil }
            guard !bits.isOverrun, range.first > 0, range.first <= range.last, range.last <= last else { return nil }
            before = range.last
        }
        if bits.isOverrun { return nil }
    }

    func contains(_ vendor: Int) -> Bool {
        var bits = entries
        var before = 0
        for _ in 0..<count {
            guard let range = VendorRanges.take(&bits, coding, after: before) else { return false }
            assert(range.first <= range.last && !bits.isOverrun, "a range was not checked when it was first read")
            if range.first <= vendor, vendor <= range.last { return true }
            before = range.last
        }
        return false
    }

    /// Returns nil if a number in Fibonacci coding does not end.
    private static func take(_ bits: inout Bits, _ coding: RangeCoding, after last: Int) -> (first: Int, last: Int)? {
        let isRange = bits.takeFlag()
        switch coding {
        case .fixed:
            let first = bits.take(16)
            return (first, isRange ? bits.take(16) : first)
        case .fibonacci:
            guard let distance = bits.takeFibonacci() else { return nil }
            let first = last + distance
            guard isRange else { return (first, first) }
            return bits.takeFibonacci().map { (first, first + $0) }
        }
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
    init?(_ bits: inout Bits, ranges rangeCoding: RangeCoding = .fixed) {
        last = bits.take(16)
        if bits.takeFlag() {
            guard let ranges = VendorRanges(&bits, upTo: last, coding: rangeCoding) else { return nil }
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
