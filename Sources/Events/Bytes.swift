// Bytes in memory and the words that the scanner reads them by.

/// Where bytes begin. Who holds one knows how far they reach.
public typealias Bytes = UnsafePointer<UInt8>

@inline(__always) func load64(_ p: Bytes) -> UInt64 { UnsafeRawPointer(p).loadUnaligned(as: UInt64.self) }
@inline(__always) func load32(_ p: Bytes) -> UInt32 { UnsafeRawPointer(p).loadUnaligned(as: UInt32.self) }

/// The first eight bytes of a key, or all of a shorter one with zeros behind. Eight bytes must be readable.
@inline(__always) func firstWord(_ p: Bytes, _ count: Int) -> UInt64 {
    count >= 8 ? UInt64(littleEndian: load64(p)) : UInt64(littleEndian: load64(p)) & ((1 << UInt64(count * 8)) &- 1)
}
