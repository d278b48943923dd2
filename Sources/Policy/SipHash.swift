// SipHash-2-4 (Aumasson and Bernstein), 64 and 128 bits: the same value on every machine, in every run.

internal import Events

struct SipKey: BitwiseCopyable {
    let low: UInt64
    let high: UInt64

    /// Sixteen bytes, as the reference reads them.
    init(_ bytes: [UInt8]) {
        precondition(bytes.count == 16, "a SipHash key has 16 bytes")
        low = bytes[0..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        high = bytes[8..<16].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @inline(__always) func hash(_ text: ByteRun) -> UInt64 {
        var state = SipState(self)
        state.absorb(text)
        return state.finish(0xff)
    }

    func hash128(_ text: ByteRun) -> (low: UInt64, high: UInt64) {
        var state = SipState(self)
        state.v1 ^= 0xee
        state.absorb(text)
        let low = state.finish(0xee)
        state.v1 ^= 0xdd
        return (low, state.finish(0))
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

    @inline(__always) mutating func absorb(_ text: ByteRun) {
        let raw = UnsafeRawPointer(text.base)
        var at = 0
        while at + 8 <= text.count {
            word(UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
            at += 8
        }
        let length = UInt64(truncatingIfNeeded: text.count) << 56
        let rest = text.count &- at
        if text.count >= 8 {
            // The word that ends with the text holds what is left in its top bytes; no byte is left when `rest` is 0.
            let last = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self))
            word(length | (rest == 0 ? 0 : last &>> UInt64(truncatingIfNeeded: 64 &- 8 &* rest)))
            return
        }
        var last = length
        for i in 0..<rest { last |= UInt64(text.base[i]) &<< UInt64(truncatingIfNeeded: 8 &* i) }
        word(last)
    }

    @inline(__always) private mutating func word(_ m: UInt64) {
        v3 ^= m
        round()
        round()
        v0 ^= m
    }

    @inline(__always) mutating func finish(_ mark: UInt64) -> UInt64 {
        v2 ^= mark
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }
}
