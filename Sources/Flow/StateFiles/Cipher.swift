// Encrypts what is stored on disk with AES-256-GCM of libcrypto, under a key that is derived from a configured one. Each sealed text is
// bound to its place, so it cannot be moved to another place. A sealed text that was changed is recognized and never opened.

internal import CCrypto
internal import Glibc
public import Plans

public final class Cipher: Sendable {
    private static let nonceSize = 12
    private static let tagSize = 16
    /// The number of bytes by which a sealed text is longer than the open text.
    static let growth = nonceSize + tagSize

    private let key: [UInt8]

    /// What is encrypted. Each purpose has a key of its own, also if they are derived from the same one.
    public enum Purpose: String, Sendable {
        case state = "switchyard state 1"
        case evidence = "switchyard evidence 1"
        case erasures = "switchyard erasures 1"
    }

    public init(_ secret: Secret, for purpose: Purpose = .state) {
        var key = [UInt8](repeating: 0, count: 32)
        let purpose = Array(purpose.rawValue.utf8)
        crypto_hmac_sha256(secret.bytes, Int32(secret.bytes.count), purpose, purpose.count, &key)
        self.key = key
    }

    /// Returns the sealed text: a random nonce, the encrypted text, and a tag over the text and the place.
    public func seal(_ text: UnsafeRawBufferPointer, at place: String) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: text.count + Cipher.growth) { out, count in
            let nonce = out.baseAddress!
            // Without random numbers the process must stop, since a nonce that is used twice breaks the encryption.
            precondition(crypto_random(nonce, Int32(Cipher.nonceSize)) == 1, "libcrypto has no random numbers")
            let body = nonce + Cipher.nonceSize
            let context = crypto_gcm_new()
            defer { crypto_gcm_free(context) }
            let isGood =
                crypto_gcm_begin(context, 1, key, nonce) == 1 && Cipher.add(place, to: context)
                && Cipher.inPieces(text) { crypto_gcm_add(context, body + $0, $1, $2) == 1 }
                && crypto_gcm_seal(context, body + text.count, Int32(Cipher.tagSize)) == 1
            precondition(isGood, "libcrypto cannot encrypt")
            count = text.count + Cipher.growth
            assert(out.count >= count, "the sealed text is longer than its memory")
        }
    }

    /// Returns the open text. Returns nil if it was not sealed for this place under this key, or was changed since.
    public func open(_ sealed: UnsafeRawBufferPointer, at place: String) -> [UInt8]? {
        guard sealed.count >= Cipher.growth, let nonce = sealed.bindMemory(to: UInt8.self).baseAddress else { return nil }
        let size = sealed.count - Cipher.growth
        precondition(size >= 0 && Cipher.nonceSize + size + Cipher.tagSize == sealed.count, "the parts of a sealed text do not fit")
        var isGood = false
        let text = [UInt8](unsafeUninitializedCapacity: max(1, size)) { out, count in
            let context = crypto_gcm_new()
            defer { crypto_gcm_free(context) }
            let body = UnsafeRawBufferPointer(rebasing: sealed[Cipher.nonceSize..<Cipher.nonceSize + size])
            let tag = UnsafeMutablePointer(mutating: nonce + Cipher.nonceSize + size)
            isGood =
                crypto_gcm_begin(context, 0, key, nonce) == 1 && Cipher.add(place, to: context)
                && Cipher.inPieces(body) { crypto_gcm_add(context, out.baseAddress! + $0, $1, $2) == 1 }
                && crypto_gcm_open(context, tag, Int32(Cipher.tagSize)) == 1
            count = size
        }
        return isGood ? text : nil
    }

    private static func add(_ place: String, to context: OpaquePointer?) -> Bool {
        let place = Array(place.utf8)
        return crypto_gcm_add(context, nil, place, Int32(place.count)) == 1
    }

    /// Passes the text to the body in pieces, because libcrypto counts bytes in 32 bits. Returns false if the body does so.
    private static func inPieces(_ text: UnsafeRawBufferPointer, _ body: (Int, UnsafePointer<UInt8>, Int32) -> Bool) -> Bool {
        guard let base = text.bindMemory(to: UInt8.self).baseAddress else { return true }
        var at = 0
        while at < text.count {
            let piece = min(text.count - at, 1 << 30)
            guard body(at, base + at, Int32(piece)) else { return false }
            at += piece
        }
        return true
    }
}
