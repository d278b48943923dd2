// SHA-256 digests, and the two hashes of the Merkle trees of RFC 6962: of a leaf and of an inner node. Each begins with another byte, so that
// no leaf can be taken for a node.

internal import CCrypto
internal import Glibc

/// A SHA-256 digest: 32 bytes.
public struct Digest: Hashable, Sendable, BitwiseCopyable {
    public static let size = 32

    // The bytes, as they lie in memory.
    private var first: UInt64 = 0
    private var second: UInt64 = 0
    private var third: UInt64 = 0
    private var fourth: UInt64 = 0

    /// Returns nil if there are not exactly 32 bytes.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Digest.size else { return nil }
        withUnsafeMutableBytes(of: &self) { $0.copyMemory(from: bytes) }
    }

    public init?(_ bytes: [UInt8]) {
        guard let digest = bytes.withUnsafeBytes({ Digest($0) }) else { return nil }
        self = digest
    }

    fileprivate init(_ context: borrowing SHA256_CTX) {
        let h = context.h
        first = Digest.bytes(h.0, h.1)
        second = Digest.bytes(h.2, h.3)
        third = Digest.bytes(h.4, h.5)
        fourth = Digest.bytes(h.6, h.7)
    }

    /// Returns a word whose bytes in memory are those of two words of SHA-256, the most significant byte first.
    private static func bytes(_ high: UInt32, _ low: UInt32) -> UInt64 { (UInt64(high) << 32 | UInt64(low)).bigEndian }

    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R { withUnsafeBytes(of: self, body) }

    public var bytes: [UInt8] { withBytes { [UInt8]($0) } }

    /// The digest of the bytes.
    public init(of bytes: UnsafeRawBufferPointer) { self = Digest.hash(nil, bytes) }

    public init(of bytes: [UInt8]) { self = bytes.withUnsafeBytes { Digest(of: $0) } }

    // MARK: - The hashes of a tree

    /// The hash of a tree without leaves.
    public static let ofEmptyTree = Digest(of: [])

    /// Returns the hash of a leaf with this content.
    public static func leaf(_ content: UnsafeRawBufferPointer) -> Digest { hash(0x00, content) }

    public static func leaf(_ content: [UInt8]) -> Digest { content.withUnsafeBytes { leaf($0) } }

    /// Returns the hash of a node with these children.
    public static func node(_ left: Digest, _ right: Digest) -> Digest {
        var context = SHA256_CTX()
        crypto_sha256_begin(&context)
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 16) { buffer in
            let block = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
            block[0] = 0x01
            left.withBytes { _ = memcpy(block + 1, $0.baseAddress!, Digest.size) }
            right.withBytes { _ = memcpy(block + 33, $0.baseAddress!, Digest.size) }
            block[65] = 0x80
            memset(block + 66, 0, 128 - 66 - 8)
            buffer.storeBytes(of: UInt64(65 * 8).bigEndian, toByteOffset: 120, as: UInt64.self)
            crypto_sha256_transform(&context, block)
            crypto_sha256_transform(&context, block + 64)
        }
        return Digest(context)
    }

    /// Writes the SHA-256 of each of `count` texts of `size` bytes, which lie one after the other, to `digests`. A first byte comes before
    /// each text. The padding is the same for all texts, so it is written once. A digest is written after its text was read: if a text is not
    /// shorter than a digest, both may be in the same memory.
    static func hash(
        _ first: UInt8, each texts: UnsafeRawPointer, count: Int, size: Int, to digests: UnsafeMutableRawPointer
    ) {
        var initial = SHA256_CTX()
        crypto_sha256_begin(&initial)
        let padded = (1 + size + 1 + 8 + 63) / 64 * 64
        withUnsafeTemporaryAllocation(byteCount: padded, alignment: 16) { buffer in
            let blocks = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
            memset(blocks, 0, padded)
            blocks[0] = first
            blocks[1 + size] = 0x80
            buffer.storeBytes(of: UInt64((1 + size) * 8).bigEndian, toByteOffset: padded - 8, as: UInt64.self)
            var context = initial
            for index in 0..<count {
                memcpy(blocks + 1, texts + index * size, size)
                context.h = initial.h
                for at in stride(from: 0, to: padded, by: 64) { crypto_sha256_transform(&context, blocks + at) }
                Digest(context).withBytes { _ = memcpy(digests + index * Digest.size, $0.baseAddress!, Digest.size) }
            }
        }
    }

    /// Returns the SHA-256 of an optional first byte and the content.
    private static func hash(_ first: UInt8?, _ content: UnsafeRawBufferPointer) -> Digest {
        var context = SHA256_CTX()
        crypto_sha256_begin(&context)
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 16) { buffer in
            let block = buffer.baseAddress!.assumingMemoryBound(to: UInt8.self)
            var filled = 0
            if let first {
                block[0] = first
                filled = 1
            }
            // The first block has the first byte, so the content is shifted by it.
            var at = min(content.count, 64 - filled)
            if at > 0 { memcpy(block + filled, content.baseAddress!, at) }
            filled += at
            if filled == 64 {
                crypto_sha256_transform(&context, block)
                filled = 0
                while content.count - at >= 64 {
                    crypto_sha256_transform(&context, content.baseAddress!.assumingMemoryBound(to: UInt8.self) + at)
                    at += 64
                }
                filled = content.count - at
                if filled > 0 { memcpy(block, content.baseAddress! + at, filled) }
            }
            // The last one or two blocks: the rest, 0x80, zeros, and the length in bits.
            let padded = filled < 56 ? 64 : 128
            block[filled] = 0x80
            memset(block + filled + 1, 0, padded - filled - 9)
            let bits = UInt64(content.count + (first == nil ? 0 : 1)) * 8
            buffer.storeBytes(of: bits.bigEndian, toByteOffset: padded - 8, as: UInt64.self)
            crypto_sha256_transform(&context, block)
            if padded == 128 { crypto_sha256_transform(&context, block + 64) }
        }
        return Digest(context)
    }
}
