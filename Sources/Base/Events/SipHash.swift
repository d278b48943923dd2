// SipHash-2-4 (Aumasson and Bernstein) with 64 and 128 bits. The result is the same on every machine and in every run.

public struct SipKey: BitwiseCopyable, Sendable {
    public let low: UInt64
    public let high: UInt64

    /// Reads sixteen bytes as the reference implementation does.
    public init(_ bytes: [UInt8]) {
        precondition(bytes.count == 16, "a SipHash key has 16 bytes")
        low = bytes[0..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        high = bytes[8..<16].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @inline(__always) public func hash(_ text: ByteRun) -> UInt64 {
        var state = SipState(self)
        state.absorb(text)
        return state.finish(0xff)
    }

    public func hash128(_ text: ByteRun) -> (low: UInt64, high: UInt64) {
        var state = SipState(self)
        state.v1 ^= 0xee
        state.absorb(text)
        let low = state.finish(0xee)
        state.v1 ^= 0xdd
        return (low, state.finish(0))
    }

    /// Hashes two texts at once. Each step of a hash depends on the previous step, so two interleaved hashes take little longer than one.
    public func hash128(
        _ a: ByteRun, _ b: ByteRun
    ) -> ((low: UInt64, high: UInt64), (low: UInt64, high: UInt64)) {
        var first = SipState(self)
        first.v1 ^= 0xee
        var second = first
        let common = min(a.count, b.count) &>> 3
        var i = 0
        while i < common {
            SipState.words(&first, SipState.word(a, i), &second, SipState.word(b, i))
            i &+= 1
        }
        // The last word of the shorter text is processed together with the next word of the longer one.
        if a.count &>> 3 == common {
            if b.count &>> 3 == common {
                SipState.words(&first, SipState.last(a), &second, SipState.last(b))
            } else {
                SipState.words(&first, SipState.last(a), &second, SipState.word(b, i))
                second.absorb(b, from: i &+ 1)
            }
        } else {
            SipState.words(&first, SipState.word(a, i), &second, SipState.last(b))
            first.absorb(a, from: i &+ 1)
        }
        first.v2 ^= 0xee
        second.v2 ^= 0xee
        SipState.finalRounds(&first, &second)
        let low = (first.value, second.value)
        first.v1 ^= 0xdd
        second.v1 ^= 0xdd
        SipState.finalRounds(&first, &second)
        return ((low.0, first.value), (low.1, second.value))
    }
}

private struct SipState {
    var v0: UInt64
    var v1: UInt64
    var v2: UInt64
    var v3: UInt64

    @inline(__always) init(_ key: SipKey) {
        v0 = key.low ^ 0x736f_6d65_7073_6575
        v1 = key.high ^ 0x646f_7261_6e64_6f6d
        v2 = key.low ^ 0x6c79_6765_6e65_7261
        v3 = key.high ^ 0x7465_6462_7974_6573
    }

    @inline(__always) mutating func round() {
        v0 = v0 &+ v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 = v2 &+ v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 = v0 &+ v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 = v2 &+ v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }

    /// Absorbs the words of the text from the word with this index on. The last word includes the length.
    @inline(__always) mutating func absorb(_ text: ByteRun, from index: Int = 0) {
        var i = index
        while i < text.count &>> 3 {
            word(SipState.word(text, i))
            i &+= 1
        }
        word(SipState.last(text))
    }

    @inline(__always) static func word(_ text: ByteRun, _ index: Int) -> UInt64 {
        assert(index >= 0 && index &<< 3 &+ 8 <= text.count, "a word is read after the end of the text")
        return UInt64(littleEndian: UnsafeRawPointer(text.base).loadUnaligned(fromByteOffset: index &<< 3, as: UInt64.self))
    }

    /// Returns the rest of the text after its whole words, combined with its length.
    @inline(__always) static func last(_ text: ByteRun) -> UInt64 {
        let length = UInt64(truncatingIfNeeded: text.count) << 56
        let rest = text.count & 7
        if text.count >= 8 {
            // The last eight bytes of the text contain the rest in their top bytes. There is no rest if `rest` is 0.
            let end = UInt64(
                littleEndian: UnsafeRawPointer(text.base).loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self))
            return length | (rest == 0 ? 0 : end &>> UInt64(truncatingIfNeeded: 64 &- 8 &* rest))
        }
        var last = length
        for i in 0..<rest { last |= UInt64(text.base[i]) &<< UInt64(truncatingIfNeeded: 8 &* i) }
        return last
    }

    @inline(__always) private mutating func word(_ m: UInt64) {
        v3 ^= m
        round()
        round()
        v0 ^= m
    }

    /// Absorbs one word into each state, interleaved.
    @inline(__always) static func words(_ a: inout SipState, _ m: UInt64, _ b: inout SipState, _ n: UInt64) {
        a.v3 ^= m
        b.v3 ^= n
        a.round()
        b.round()
        a.round()
        b.round()
        a.v0 ^= m
        b.v0 ^= n
    }

    @inline(__always) static func finalRounds(_ a: inout SipState, _ b: inout SipState) {
        for _ in 0..<4 {
            a.round()
            b.round()
        }
    }

    @inline(__always) var value: UInt64 { v0 ^ v1 ^ v2 ^ v3 }

    @inline(__always) mutating func finish(_ mark: UInt64) -> UInt64 {
        v2 ^= mark
        for _ in 0..<4 { round() }
        return value
    }
}
