// Seals what is kept on disk: AES-256-GCM by libcrypto, under a key that is made from a configured one. Each piece is bound
// to its place, so that none can be put elsewhere; one that was changed is recognised and not opened.

internal import CCrypto
public import Configuration
internal import Glibc

public final class Cipher: Sendable {
    private static let nonceSize = 12
    private static let tagSize = 16
    /// How many bytes a sealed text is longer than the open one.
    static let growth = nonceSize + tagSize

    private let key: [UInt8]

    public init(_ secret: Secret) {
        var key = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 32
        let purpose = Array("switchyard state 1".utf8)
        HMAC(EVP_sha256(), secret.bytes, Int32(secret.bytes.count), purpose, purpose.count, &key, &count)
        self.key = key
    }

    /// The sealed bytes: a nonce by chance, the text, and a tag over it and the place.
    func seal(_ text: UnsafeRawBufferPointer, at place: String) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: text.count + Cipher.growth) { out, count in
            let nonce = out.baseAddress!
            // There is no going on without chance: a nonce that comes twice gives the key away.
            precondition(RAND_bytes(nonce, Int32(Cipher.nonceSize)) == 1, "libcrypto has no random numbers")
            let context = EVP_CIPHER_CTX_new()
            defer { EVP_CIPHER_CTX_free(context) }
            var length: Int32 = 0
            var isGood = EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce) == 1
            let place = Array(place.utf8)
            isGood = isGood && EVP_EncryptUpdate(context, nil, &length, place, Int32(place.count)) == 1
            let body = nonce + Cipher.nonceSize
            isGood = isGood && Cipher.inPieces(text) { EVP_EncryptUpdate(context, body + $0, &length, $1, $2) == 1 }
            isGood = isGood && EVP_EncryptFinal_ex(context, body + text.count, &length) == 1
            isGood = isGood && switchyard_gcm_get_tag(context, Int32(Cipher.tagSize), body + text.count) == 1
            precondition(isGood, "libcrypto cannot encrypt")
            count = text.count + Cipher.growth
        }
    }

    /// The open bytes; nil: they were not sealed here, under this key, or were changed since.
    func open(_ sealed: UnsafeRawBufferPointer, at place: String) -> [UInt8]? {
        guard sealed.count >= Cipher.growth, let base = sealed.bindMemory(to: UInt8.self).baseAddress else { return nil }
        let size = sealed.count - Cipher.growth
        var isGood = false
        let text = [UInt8](unsafeUninitializedCapacity: max(1, size)) { out, count in
            let context = EVP_CIPHER_CTX_new()
            defer { EVP_CIPHER_CTX_free(context) }
            var length: Int32 = 0
            let body = UnsafeRawBufferPointer(rebasing: sealed[Cipher.nonceSize..<Cipher.nonceSize + size])
            let tag = UnsafeMutablePointer(mutating: base + Cipher.nonceSize + size)
            let place = Array(place.utf8)
            isGood = EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key, base) == 1
            isGood = isGood && EVP_DecryptUpdate(context, nil, &length, place, Int32(place.count)) == 1
            isGood = isGood && Cipher.inPieces(body) { EVP_DecryptUpdate(context, out.baseAddress! + $0, &length, $1, $2) == 1 }
            isGood = isGood && switchyard_gcm_set_tag(context, Int32(Cipher.tagSize), tag) == 1
            var end: [UInt8] = [0]
            isGood = isGood && EVP_DecryptFinal_ex(context, &end, &length) == 1
            count = size
        }
        return isGood ? text : nil
    }

    /// libcrypto counts in 32 bits.
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
