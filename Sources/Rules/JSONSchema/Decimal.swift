// Numbers by their exact values, read from their texts: no number of an event is rounded before it is compared. The cost depends only on the
// length of the text, however large an exponent is.

internal import Events

/// A number as (-1)^n × 0.d1d2d3… × 10^power. Its digits stay in the text.
struct DecimalText: BitwiseCopyable {
    let text: Bytes
    let end: Bytes
    var isNegative = false
    /// The first digit that is not 0, and the place after the last one that is not 0.
    var first: Bytes
    var last: Bytes
    /// The power of ten. It is limited to ±10^15, which no text of an event can exceed by its digits alone.
    var power = 0
    /// The value, if it has at most 15 digits and no exponent. Such values are compared as they are.
    var short: Double?

    var isZero: Bool { first == last }

    init(_ start: Bytes, _ end: Bytes) {
        text = start
        self.end = end
        var p = start
        if p[0] == UInt8(ascii: "-") {
            isNegative = true
            p += 1
        }
        (first, last) = (p, p)
        var whole = 0
        var hasPoint = false
        var leading = 0
        var isFound = false
        var digits = 0
        var value: UInt64 = 0
        var scale = 0
        while p < end, p[0] | 0x20 != UInt8(ascii: "e") {
            if p[0] == UInt8(ascii: ".") {
                hasPoint = true
            } else {
                digits += 1
                if digits <= 15 { value = value * 10 + UInt64(p[0] - 0x30) }
                if hasPoint { scale += 1 } else { whole += 1 }
                if p[0] != UInt8(ascii: "0") {
                    if !isFound {
                        first = p
                        leading = digits - 1
                        isFound = true
                    }
                    last = p + 1
                }
            }
            p += 1
        }
        if !isFound {
            short = 0
            return
        }
        power = whole - leading
        guard p < end else {
            if digits <= 15 {
                let size = Double(value) / DecimalText.powers[scale]
                short = isNegative ? -size : size
            }
            return
        }
        p += 1
        let isExponentNegative = p[0] == UInt8(ascii: "-")
        if p[0] == UInt8(ascii: "-") || p[0] == UInt8(ascii: "+") { p += 1 }
        var exponent = 0
        while p < end {
            if exponent < 1_000_000_000_000_000 { exponent = exponent * 10 + Int(p[0] - 0x30) }
            p += 1
        }
        power += isExponentNegative ? -exponent : exponent
    }

    static let powers: InlineArray<16, Double> = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]

    /// True if the value has no fraction.
    var isInteger: Bool { isZero || power >= significant }

    /// The number of digits from the first to the last that is not 0.
    private var significant: Int {
        var count = 0
        var p = first
        while p < last {
            if p[0] != UInt8(ascii: ".") { count += 1 }
            p += 1
        }
        return count
    }

    /// The size of an integer with at most 15 digits.
    var integer: Int {
        assert(isInteger && power <= 15, "a number is no small integer")
        var value = 0
        var p = first
        for _ in 0..<power {
            if p < last, p[0] == UInt8(ascii: ".") { p += 1 }
            value = value * 10 + (p < last ? Int(p[0] - 0x30) : 0)
            p += 1
        }
        return value
    }

    /// Returns a negative number if this value is less than the other, 0 if they are the same, and a positive number otherwise.
    func compared(to other: DecimalText) -> Int {
        if let a = short, let b = other.short { return a < b ? -1 : a > b ? 1 : 0 }
        if isZero || other.isZero {
            if isZero && other.isZero { return 0 }
            return isZero ? (other.isNegative ? 1 : -1) : (isNegative ? -1 : 1)
        }
        if isNegative != other.isNegative { return isNegative ? -1 : 1 }
        let size = comparedSize(to: other)
        return isNegative ? -size : size
    }

    private func comparedSize(to other: DecimalText) -> Int {
        if power != other.power { return power < other.power ? -1 : 1 }
        var p = first
        var q = other.first
        while p < last || q < other.last {
            if p < last, p[0] == UInt8(ascii: ".") { p += 1 }
            if q < other.last, q[0] == UInt8(ascii: ".") { q += 1 }
            let a = p < last ? p[0] : UInt8(ascii: "0")
            let b = q < other.last ? q[0] : UInt8(ascii: "0")
            if a != b { return a < b ? -1 : 1 }
            if p < last { p += 1 }
            if q < other.last { q += 1 }
        }
        return 0
    }

    /// Returns the digits that are significant, as an integer modulo `divisor`.
    fileprivate func digits(modulo divisor: UInt64) -> UInt64 {
        var rest: UInt64 = 0
        var p = first
        while p < last {
            if p[0] != UInt8(ascii: ".") { rest = product(rest, 10, modulo: divisor, adding: UInt64(p[0] - 0x30)) }
            p += 1
        }
        return rest
    }

    /// The exponent of the last significant digit.
    fileprivate var lastPower: Int { power - significant }

    /// The significant digits as an integer. It is nil if there are more than 18.
    fileprivate var smallDigits: UInt64? { significant <= 18 ? digits(modulo: .max) : nil }
}

/// The number of `multipleOf`: digits × 10^power.
struct Divisor: BitwiseCopyable {
    private let digits: UInt64
    private let power: Int

    /// Returns nil if the number has more than 18 digits.
    init?(_ number: DecimalText) {
        guard let digits = number.smallDigits, digits > 0 else { return nil }
        (self.digits, power) = (digits, number.lastPower)
    }

    /// Returns true if the number is a multiple.
    func divides(_ number: DecimalText) -> Bool {
        if number.isZero { return true }
        let shift = number.lastPower - power
        // A multiple of digits × 10^n ends with n zeros, but the last significant digit is not 0.
        guard shift >= 0 else { return false }
        var rest = number.digits(modulo: digits)
        var base = 10 % digits
        var exponent = shift
        while exponent > 0, rest != 0 {
            if exponent & 1 == 1 { rest = product(rest, base, modulo: digits) }
            base = product(base, base, modulo: digits)
            exponent >>= 1
        }
        return rest == 0
    }
}

private func product(_ a: UInt64, _ b: UInt64, modulo divisor: UInt64, adding digit: UInt64 = 0) -> UInt64 {
    var (high, low) = a.multipliedFullWidth(by: b)
    let (sum, carry) = low.addingReportingOverflow(digit)
    low = sum
    if carry { high += 1 }
    return divisor.dividingFullWidth((high % divisor, low)).remainder
}
