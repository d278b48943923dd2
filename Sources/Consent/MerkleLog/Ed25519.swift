// Signatures with Ed25519 (RFC 8032), by libcrypto.

internal import CCrypto

/// A key that signs. It is made from a seed of 32 bytes and is never shown.
public struct SigningKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    private let seed: [UInt8]
    /// The 32 bytes with which others check signatures.
    public let publicKey: [UInt8]

    public init(seed: [UInt8]) {
        precondition(seed.count == 32, "a seed has another size")
        var key = [UInt8](repeating: 0, count: 32)
        precondition(crypto_ed25519_public(seed, &key) == 1, "libcrypto cannot make an Ed25519 key")
        self.seed = seed
        publicKey = key
    }

    /// Returns the 64 bytes of the signature.
    public func sign(_ text: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        precondition(crypto_ed25519_sign(seed, text, text.count, &signature) == 1, "libcrypto cannot sign")
        return signature
    }

    public var description: String { "(secret)" }
    public var debugDescription: String { description }
}

enum Ed25519 {
    static func isSigned(_ text: [UInt8], _ signature: some Collection<UInt8>, by publicKey: [UInt8]) -> Bool {
        let signature = Array(signature)
        guard publicKey.count == 32, signature.count == 64 else { return false }
        return crypto_ed25519_verify(publicKey, text, text.count, signature) == 1
    }
}
