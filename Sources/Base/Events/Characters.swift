// The characters of JSON strings: checks of escapes and of UTF-8 sequences.

@inline(__always) func hexDigit(_ c: UInt8) -> UInt32? {
    switch c {
    case 0x30...0x39: UInt32(c - 0x30)
    case 0x41...0x46: UInt32(c - 0x37)
    case 0x61...0x66: UInt32(c - 0x57)
    default: nil
    }
}

/// Returns the value of four hexadecimal digits that have been validated.
@inline(__always) func hex4(_ p: Bytes) -> UInt32 {
    assert(isHex4(load32(p)), "the digits of an escape were not validated")
    var value: UInt32 = 0
    for i in 0..<4 { value = value &<< 4 | (hexDigit(p[i]) ?? 0) }
    return value
}

/// Returns true if the four bytes of x are hexadecimal digits. It checks them all at once: bit 7 of each byte of a sum is a comparison.
@inline(__always) func isHex4(_ x: UInt32) -> Bool {
    let ones: UInt32 = 0x0101_0101
    let low = x & 0x7f7f_7f7f
    let lower = low | 0x2020_2020
    let digit = (low &+ ones &* 0x50) & ~(low &+ ones &* 0x46)
    let letter = (lower &+ ones &* 0x1f) & ~(lower &+ ones &* 0x19)
    return (digit | letter) & ~x & 0x8080_8080 == 0x8080_8080
}

/// Returns the length of the escape at p, or 0 if it is invalid. A lone surrogate is valid JSON and is accepted.
@inline(__always) func escapeLength(_ p: Bytes) -> Int {
    assert(p[0] == UInt8(ascii: "\\"), "an escape begins with another byte than a backslash")
    return switch p[1] {
    case UInt8(ascii: "u"): isHex4(load32(p + 2)) ? 6 : 0
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
        UInt8(ascii: "r"), UInt8(ascii: "t"):
        2
    default: 0
    }
}

/// Returns the distance from the backslash to the first wrong byte of an escape that `escapeLength` refused.
func escapeFault(_ p: Bytes) -> Int {
    guard p[1] == UInt8(ascii: "u") else { return 1 }
    var i = 2
    while hexDigit(p[i]) != nil { i += 1 }
    return i
}

/// Returns the length of the UTF-8 sequence at p (table 3-7 of the Unicode standard), or 0 if it is ill-formed.
@inline(__always) func utf8Length(_ p: Bytes) -> Int {
    func isTail(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
    let word = load32(p)
    // This tests for three bytes, which most scripts use, and excludes overlong forms and surrogates.
    if word & 0x00c0_c0f0 == 0x0080_80e0, word & 0x200f != 0, word & 0x200f != 0x200d { return 3 }
    switch p[0] {
    case 0xc2...0xdf: return isTail(p[1]) ? 2 : 0
    case 0xf0: return p[1] >= 0x90 && p[1] <= 0xbf && isTail(p[2]) && isTail(p[3]) ? 4 : 0
    case 0xf1...0xf3: return isTail(p[1]) && isTail(p[2]) && isTail(p[3]) ? 4 : 0
    case 0xf4: return p[1] >= 0x80 && p[1] <= 0x8f && isTail(p[2]) && isTail(p[3]) ? 4 : 0
    default: return 0
    }
}
