// A number of an event. A number that is written as an integer is an int, or a uint if it exceeds the range of int. All other numbers
// are doubles, and so are integers that neither type can hold.

internal import Events
internal import Glibc

enum JSONNumber: BitwiseCopyable {
    case int(Int64)
    case uint(UInt64)
    case double(Double)

    /// Reads a valid JSON number. The byte after it must end the number.
    @inline(__always) init(_ span: JSONSpan) {
        let isNegative = span.first == UInt8(ascii: "-")
        var p = isNegative ? span.start + 1 : span.start
        // Up to 18 digits cannot overflow, and nearly all numbers are not longer.
        let end = span.end
        guard end - p <= 18 else {
            self = JSONNumber.long(span)
            return
        }
        var digits: Int64 = 0
        while p < end, isDigit(p[0]) {
            digits = digits &* 10 &+ Int64(p[0] &- 0x30)
            p += 1
        }
        if p == end {
            self = .int(isNegative ? -digits : digits)
            return
        }
        guard p[0] == UInt8(ascii: ".") else {
            self = JSONNumber.slow(span)
            return
        }
        p += 1
        let point = p
        while p < end, isDigit(p[0]) {
            digits = digits &* 10 &+ Int64(p[0] &- 0x30)
            p += 1
        }
        // Both are exact as doubles. So their quotient is rounded only once, and is the nearest double.
        guard p == end, digits < 1 << 53 else {
            self = JSONNumber.slow(span)
            return
        }
        let value = Double(digits) / JSONNumber.powers[p - point]
        self = .double(isNegative ? -value : value)
    }

    private static let powers: InlineArray<19, Double> = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    ]

    @inline(never) private static func long(_ span: JSONSpan) -> JSONNumber {
        let isNegative = span.first == UInt8(ascii: "-")
        var magnitude: UInt64 = 0
        var p = isNegative ? span.start + 1 : span.start
        while p < span.end {
            guard isDigit(p[0]) else { return slow(span) }
            let (tens, over) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt64(p[0] - 0x30))
            if over || carry { return slow(span) }
            magnitude = sum
            p += 1
        }
        if isNegative { return magnitude <= 1 << 63 ? .int(Int64(truncatingIfNeeded: 0 &- magnitude)) : slow(span) }
        return magnitude < 1 << 63 ? .int(Int64(magnitude)) : .uint(magnitude)
    }

    @inline(never) private static func slow(_ span: JSONSpan) -> JSONNumber {
        assert(!isNamePart(span.end[0]) && span.end[0] != UInt8(ascii: "."), "the byte after a number would be read as a part of it")
        return span.start.withMemoryRebound(to: CChar.self, capacity: span.count) { .double(strtod($0, nil)) }
    }
}
