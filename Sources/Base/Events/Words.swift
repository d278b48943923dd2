// Compares, searches and copies short sequences of bytes, one word or vector at a time and without a call. A judge mostly handles sequences
// that take less time than a call. Nothing outside the sequence is read or written unless a function says so.

public enum Words {
    /// The number of bytes after a sequence that `copy` may read and write.
    public static let slack = 64

    @inlinable @inline(__always) public static func load(_ p: Bytes) -> UInt64 { UnsafeRawPointer(p).loadUnaligned(as: UInt64.self) }
    @usableFromInline @inline(__always) static func loadHalf(_ p: Bytes) -> UInt32 { UnsafeRawPointer(p).loadUnaligned(as: UInt32.self) }

    /// Returns the top bit of each byte of the word that equals this byte. It is exact only up to the first match.
    @inlinable @inline(__always) public static func places(of byte: UInt8, in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let other = word ^ (ones &* UInt64(byte))
        return (other &- ones) & ~other & (ones &* 0x80)
    }

    /// Copies in whole vectors. It reads up to `slack` bytes after the source and writes them after the target.
    @inlinable @inline(__always) public static func copy(_ from: Bytes, to out: UnsafeMutablePointer<UInt8>, _ count: Int) {
        assert(count >= 0, "a negative number of bytes is copied")
        var source = UnsafeRawPointer(from)
        var target = UnsafeMutableRawPointer(out)
        let end = target + count
        repeat {
            let a = source.loadUnaligned(as: SIMD32<UInt8>.self)
            target.storeBytes(of: a, as: SIMD32<UInt8>.self)
            source += 32
            target += 32
        } while target < end
    }
}

@inlinable @inline(__always) public func sameBytes(_ a: Bytes, b: Bytes, count: Int) -> Bool {
    assert(count >= 0, "a negative number of bytes is compared")
    if count >= 8 {
        var i = 0
        while i < count &- 8 {
            if Words.load(a + i) != Words.load(b + i) { return false }
            i &+= 8
        }
        return Words.load(a + (count &- 8)) == Words.load(b + (count &- 8))
    }
    if count >= 4 {
        return Words.loadHalf(a) == Words.loadHalf(b) && Words.loadHalf(a + (count &- 4)) == Words.loadHalf(b + (count &- 4))
    }
    for i in 0..<count where a[i] != b[i] { return false }
    return true
}

@inlinable @inline(__always) public func contains(_ byte: UInt8, p: Bytes, count: Int) -> Bool {
    if count >= 8 {
        var i = 0
        var found: UInt64 = 0
        while i < count &- 8 {
            found |= Words.places(of: byte, in: Words.load(p + i))
            i &+= 8
        }
        return found | Words.places(of: byte, in: Words.load(p + (count &- 8))) != 0
    }
    for i in 0..<count where p[i] == byte { return true }
    return false
}
