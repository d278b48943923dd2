// The numbers in subjects and replies.

/// Returns the number of these decimal digits. It is nil if there is another byte, no digit or more than 19, which all fit into 64 bits.
func decimal(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
    guard 1...19 ~= digits.count else { return nil }
    var number: UInt64 = 0
    for digit in digits {
        guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
        number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    return number
}
