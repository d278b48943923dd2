// Computes HMAC-SHA-256 from prepared states. A value of up to 55 bytes, as most ids are, takes two calls of the block function.

internal import CCrypto
public import Events
internal import Glibc

/// A key whose inner and outer blocks are hashed once, in advance. A digest does not process the key again.
public struct HMACKey: BitwiseCopyable, Sendable {
    public typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)

    private let inner: State
    private let outer: State

    public init(_ secret: [UInt8]) {
        var key = secret
        if key.count > 64 {
            key = [UInt8](repeating: 0, count: 32)
            crypto_sha256(secret, secret.count, &key)
        }
        key += [UInt8](repeating: 0, count: 64 - key.count)
        inner = HMACKey.absorb(key.map { $0 ^ 0x36 })
        outer = HMACKey.absorb(key.map { $0 ^ 0x5c })
    }

    private static func absorb(_ block: [UInt8]) -> State {
        var context = SHA256_CTX()
        crypto_sha256_begin(&context)
        crypto_sha256_transform(&context, block)
        return context.h
    }

    /// Writes the 64 lower-case hex digits of the message's HMAC to `out`.
    public func write(_ message: ByteRun, to out: UnsafeMutablePointer<UInt8>) {
        let h = digest(message)
        hex(h.0, out)
        hex(h.1, out + 8)
        hex(h.2, out + 16)
        hex(h.3, out + 24)
        hex(h.4, out + 32)
        hex(h.5, out + 40)
        hex(h.6, out + 48)
        hex(h.7, out + 56)
    }

    /// Writes the first sixteen bytes of the message's HMAC to `out`.
    public func writeHalf(_ message: ByteRun, to out: UnsafeMutablePointer<UInt8>) {
        let h = digest(message)
        let bytes = UnsafeMutableRawPointer(out)
        bytes.storeBytes(of: h.0.bigEndian, as: UInt32.self)
        bytes.storeBytes(of: h.1.bigEndian, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: h.2.bigEndian, toByteOffset: 8, as: UInt32.self)
        bytes.storeBytes(of: h.3.bigEndian, toByteOffset: 12, as: UInt32.self)
    }

    @inline(__always) private func digest(_ message: ByteRun) -> State {
        // The block function reads and writes only `h`.
        var context = SHA256_CTX()
        context.h = inner
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 16) { buffer in
            let block = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
            var at = 0
            while message.count - at >= 64 {
                crypto_sha256_transform(&context, message.base + at)
                at += 64
            }
            // The last one or two blocks: the rest of the message, 0x80, zeros, and the length in bits, which includes the key's block.
            let rest = message.count - at
            let padded = rest < 56 ? 64 : 128
            memcpy(block, message.base + at, rest)
            block[rest] = 0x80
            memset(block + rest + 1, 0, padded - rest - 9)
            store(bits: (64 + message.count) * 8, in: buffer, at: padded - 8)
            crypto_sha256_transform(&context, block)
            if padded == 128 { crypto_sha256_transform(&context, block + 64) }

            let digest = context.h
            context.h = outer
            let words = buffer.baseAddress!.assumingMemoryBound(to: UInt32.self)
            words[0] = digest.0.bigEndian
            words[1] = digest.1.bigEndian
            words[2] = digest.2.bigEndian
            words[3] = digest.3.bigEndian
            words[4] = digest.4.bigEndian
            words[5] = digest.5.bigEndian
            words[6] = digest.6.bigEndian
            words[7] = digest.7.bigEndian
            block[32] = 0x80
            memset(block + 33, 0, 64 - 33 - 8)
            store(bits: (64 + 32) * 8, in: buffer, at: 56)
            crypto_sha256_transform(&context, block)
        }
        return context.h
    }

    @inline(__always) private func store(bits: Int, in buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        buffer.storeBytes(of: UInt64(bits).bigEndian, toByteOffset: offset, as: UInt64.self)
    }

    /// Writes eight digits at once. Each nibble gets its own byte. Then the code of `0` is added, and for 10 to 15 the distance to `a` too.
    @inline(__always) private func hex(_ word: UInt32, _ out: UnsafeMutablePointer<UInt8>) {
        var x = UInt64(word)
        x = (x & 0xffff_0000) << 16 | x & 0xffff
        x = (x & 0x0000_ff00_0000_ff00) << 8 | x & 0x0000_00ff_0000_00ff
        x = (x & 0x00f0_00f0_00f0_00f0) << 4 | x & 0x000f_000f_000f_000f
        let ones: UInt64 = 0x0101_0101_0101_0101
        let letters = ((x &+ ones &* 6) >> 4) & ones
        x = x &+ ones &* 0x30 &+ letters &* 0x27
        UnsafeMutableRawPointer(out).storeBytes(of: x.bigEndian, as: UInt64.self)
    }
}
