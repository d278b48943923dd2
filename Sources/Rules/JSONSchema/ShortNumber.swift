// A number of an event without an exponent as a double. With at most 15 digits the double is exact, and nearly all numbers of events are so. A
// whole number with up to 18 digits is rounded. A number that ends within eight bytes is read in one step.

internal import Events

struct ShortNumber {
    /// The place after the number.
    let end: Bytes
    /// The value, rounded unless `isExact`. It is not a number if the number has more digits or an exponent.
    private(set) var value = Double.nan
    private(set) var isExact = false
    /// True if it is written with digits only.
    private(set) var isWhole = false

    /// Reads the number at `start`. A comma, a bracket or a space follows it.
    @inline(__always) static func read(_ start: Bytes) -> ShortNumber {
        let isNegative = start[0] == UInt8(ascii: "-")
        let first = isNegative ? start + 1 : start
        let word = Words.load(first)
        let others = ShortNumber.otherThanDigits(word)
        let whole = others.trailingZeroBitCount &>> 3
        let isFraction = others != 0 && first[whole & 7] == UInt8(ascii: ".")
        let count = isFraction ? (others & (others &- 1)).trailingZeroBitCount &>> 3 : whole
        guard count < 8, first[count] | 0x20 != UInt8(ascii: "e") else { return ShortNumber(long: first, isNegative) }
        // The digits stand together at the top of the word, without the point.
        let before = (1 as UInt64) &<< UInt64(truncatingIfNeeded: whole &* 8) &- 1
        let together = isFraction ? word & before | word &>> 8 & ~before : word
        let digits = isFraction ? count &- 1 : count
        let size = ShortNumber.value((together ^ 0x3030_3030_3030_3030) &<< UInt64(truncatingIfNeeded: 64 &- digits &* 8))
        // Both are exact as doubles, so their quotient is the nearest double, as in `DecimalText`.
        let value = isFraction ? Double(size) / DecimalText.powers[digits &- whole] : Double(size)
        return ShortNumber(end: first + count, value: isNegative ? -value : value, isExact: true, isWhole: !isFraction)
    }

    @inline(__always) private init(end: Bytes, value: Double, isExact: Bool, isWhole: Bool) {
        (self.end, self.value, self.isExact, self.isWhole) = (end, value, isExact, isWhole)
    }

    /// Reads a number of any length, of which the sign was read.
    @inline(never) private init(long first: Bytes, _ isNegative: Bool) {
        var p = first
        var digits: UInt64 = 0
        while p[0] &- 0x30 < 10 {
            digits = digits &* 10 &+ UInt64(p[0] &- 0x30)
            p += 1
        }
        var count = p - first
        var scale = 0
        isWhole = p[0] != UInt8(ascii: ".") && p[0] | 0x20 != UInt8(ascii: "e")
        if p[0] == UInt8(ascii: ".") {
            p += 1
            let point = p
            while p[0] &- 0x30 < 10 {
                digits = digits &* 10 &+ UInt64(p[0] &- 0x30)
                p += 1
            }
            scale = p - point
            count += scale
        }
        if p[0] | 0x20 == UInt8(ascii: "e") {
            p += 2
            while p[0] &- 0x30 < 10 { p += 1 }
            end = p
            return
        }
        end = p
        guard count <= (isWhole ? 18 : 15) else { return }
        isExact = count <= 15
        value = scale == 0 ? Double(digits) : Double(digits) / DecimalText.powers[scale]
        if isNegative { value = -value }
    }

    /// Returns the top bit of each byte that is not a digit.
    @inline(__always) private static func otherThanDigits(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let from0 = word ^ (ones &* 0x30)
        return ((from0 & (ones &* 0x7f)) &+ (ones &* 0x76) | from0) & (ones &* 0x80)
    }

    /// Returns the number that eight digits write. The lowest byte is the first digit; each byte is a digit's value.
    @inline(__always) private static func value(_ digits: UInt64) -> UInt64 {
        let pairs = (digits &* 10 &+ digits &>> 8) & 0x00ff_00ff_00ff_00ff
        let fours = (pairs &* 100 &+ pairs &>> 16) & 0x0000_ffff_0000_ffff
        return (fours &* 10_000 &+ fours &>> 32) & 0xffff_ffff
    }
}
