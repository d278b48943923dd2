// Compares numbers by their exact values, directly from their texts: 1.0 equals 10e-1, and 9007199254740993 does not equal
// 9007199254740992. It never computes a value, so the cost of many digits or of a huge exponent depends only on their length.

public enum Number {
    /// Returns true if two valid JSON numbers have the same value.
    public static func same(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        let a = Decimal(a)
        let b = Decimal(b)
        if a.isZero || b.isZero { return a.isZero && b.isZero }
        guard a.isNegative == b.isNegative, a.significant == b.significant else { return false }
        var i = a.firstDigit
        var j = b.firstDigit
        for _ in 0..<a.significant {
            assert(i < a.text.count && j < b.text.count, "a number ends before its last significant digit")
            if a.text[i] == UInt8(ascii: ".") { i += 1 }
            if b.text[j] == UInt8(ascii: ".") { j += 1 }
            if a.text[i] != b.text[j] { return false }
            i += 1
            j += 1
        }
        return a.hasSamePower(as: b)
    }
}

/// A number as 0.d1d2d3… times a power of ten. Its digits stay in the text.
private struct Decimal {
    let text: UnsafeBufferPointer<UInt8>
    var isNegative = false
    /// The place of the first digit that is not 0, and the number of digits from it to the last digit that is not 0.
    var firstDigit = 0
    var significant = 0
    /// The power of ten is `shift` plus the written exponent, which may have any number of digits.
    var shift = 0
    var isExponentNegative = false
    /// The digits of the exponent without leading zeros.
    var exponent: Range<Int>

    var isZero: Bool { significant == 0 }

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        assert(!text.isEmpty, "a number has no digits")
        var i = 0
        if text[i] == UInt8(ascii: "-") {
            isNegative = true
            i += 1
        }
        var digits = 0
        var wholeDigits: Int?
        var leadingZeros = 0
        var afterLastNonZero = 0
        while i < text.count, text[i] | 0x20 != UInt8(ascii: "e") {
            if text[i] == UInt8(ascii: ".") {
                wholeDigits = digits
            } else {
                if text[i] != UInt8(ascii: "0") {
                    if afterLastNonZero == 0 {
                        firstDigit = i
                        leadingZeros = digits
                    }
                    afterLastNonZero = digits + 1
                }
                digits += 1
            }
            i += 1
        }
        if afterLastNonZero > 0 {
            significant = afterLastNonZero - leadingZeros
            shift = (wholeDigits ?? digits) - leadingZeros
        }
        if i < text.count {
            i += 1
            if text[i] == UInt8(ascii: "+") || text[i] == UInt8(ascii: "-") {
                isExponentNegative = text[i] == UInt8(ascii: "-")
                i += 1
            }
            while i < text.count, text[i] == UInt8(ascii: "0") { i += 1 }
        }
        assert(text[i...].allSatisfy(isDigit), "the exponent of a number was not validated")
        exponent = i..<text.count
    }

    /// Returns true if `shift` plus the exponent is the same in both.
    func hasSamePower(as other: Decimal) -> Bool {
        if let a = smallExponent, let b = other.smallExponent { return shift + a == other.shift + b }
        return longExponentsMeet(other)
    }

    /// The exponent. It is nil if adding a shift to it could overflow.
    private var smallExponent: Int? {
        guard exponent.count <= 17 else { return nil }
        let size = exponent.reduce(0) { $0 * 10 + Int(text[$1] - 0x30) }
        return isExponentNegative ? -size : size
    }

    /// Compares exponents of any length digit by digit from the right: a.exponent - b.exponent must be the difference of the shifts.
    private func longExponentsMeet(_ other: Decimal) -> Bool {
        // The terms are signed so that size(a) * signA + shiftA == size(b) * signB + shiftB.
        var carry = shift - other.shift
        let count = max(exponent.count, other.exponent.count)
        for place in 0..<count {
            carry += signedDigit(place) - other.signedDigit(place)
            // The sum at each place must be a multiple of ten, which is carried to the next place.
            if carry % 10 != 0 { return false }
            carry /= 10
        }
        return carry == 0
    }

    private func signedDigit(_ place: Int) -> Int {
        guard place < exponent.count else { return 0 }
        let digit = Int(text[exponent.upperBound - 1 - place] - 0x30)
        return isExponentNegative ? -digit : digit
    }
}
