// A number of an event without an exponent as a double. With at most 15 digits the double is exact, and nearly all numbers of events are so. A
// whole number with up to 18 digits is rounded.

internal import Events

struct ShortNumber {
    /// The place after the number.
    let end: Bytes
    /// The value, rounded unless `isExact`. It is not a number if the number has more digits or an exponent.
    private(set) var value = Double.nan
    private(set) var isExact = false
    /// True if it is written with digits only.
    private(set) var isWhole = false

    /// Reads the number at `p`. A comma, a bracket or a space follows it.
    @inline(__always) init(_ start: Bytes) {
        let isNegative = start[0] == UInt8(ascii: "-")
        let first = isNegative ? start + 1 : start
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
        // Both are exact as doubles, so their quotient is the nearest double, as in `DecimalText`.
        value = scale == 0 ? Double(digits) : Double(digits) / DecimalText.powers[scale]
        if isNegative { value = -value }
    }
}
