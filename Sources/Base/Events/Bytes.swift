// Bytes in memory, and the words in which the scanner reads them. It works on little-endian machines only.

/// The start of a sequence of bytes. The owner of the pointer must know its length.
public typealias Bytes = UnsafePointer<UInt8>

@inline(__always) func load64(_ p: Bytes) -> UInt64 { UnsafeRawPointer(p).loadUnaligned(as: UInt64.self) }
@inline(__always) func load32(_ p: Bytes) -> UInt32 { UnsafeRawPointer(p).loadUnaligned(as: UInt32.self) }
@inline(__always) func load16(_ p: Bytes) -> UInt16 { UnsafeRawPointer(p).loadUnaligned(as: UInt16.self) }

@inline(__always) func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

/// Returns the top bit of each byte that is not a digit.
@inline(__always) func otherThanDigits(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    // A digit xor '0' is below 10, and adding 0x76 sets bit 7 for every other value. The terms have bit 7 cleared, so nothing carries over.
    let low = (word ^ (ones &* 0x30)) & (ones &* 0x7f)
    return ((low &+ (ones &* 0x76)) | word) & (ones &* 0x80)
}

/// Returns the number of digits at p, reading eight bytes at a time. A byte that is not a digit must follow, and seven readable bytes after
/// it.
@inline(__always) func digitCount(_ p: Bytes) -> Int {
    var n = 0
    while true {
        let others = otherThanDigits(load64(p + n))
        if others != 0 { return n &+ others.trailingZeroBitCount &>> 3 }
        n &+= 8
    }
}
