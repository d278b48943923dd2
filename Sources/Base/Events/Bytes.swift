// Bytes in memory and the words that the scanner reads them by. Little-endian machines only.

/// Where bytes begin. Who holds one knows how far they reach.
public typealias Bytes = UnsafePointer<UInt8>

@inline(__always) func load64(_ p: Bytes) -> UInt64 { UnsafeRawPointer(p).loadUnaligned(as: UInt64.self) }
@inline(__always) func load32(_ p: Bytes) -> UInt32 { UnsafeRawPointer(p).loadUnaligned(as: UInt32.self) }
@inline(__always) func load16(_ p: Bytes) -> UInt16 { UnsafeRawPointer(p).loadUnaligned(as: UInt16.self) }

@inline(__always) func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

/// The top bit of each byte that is no digit.
@inline(__always) func otherThanDigits(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    // A digit xor '0' is below 10; adding 0x76 lifts everything else to bit 7. Without that bit in the terms nothing carries.
    let low = (word ^ (ones &* 0x30)) & (ones &* 0x7f)
    return ((low &+ (ones &* 0x76)) | word) & (ones &* 0x80)
}

/// How many digits begin at p, eight at a time. A byte that is no digit must follow, with seven readable bytes behind it.
@inline(__always) func digitCount(_ p: Bytes) -> Int {
    var n = 0
    while true {
        let others = otherThanDigits(load64(p + n))
        if others != 0 { return n &+ others.trailingZeroBitCount &>> 3 }
        n &+= 8
    }
}
