import CCrypto

/// Returns HMAC-SHA-256 by its definition, with the library's one-shot hash.
func referenceHMAC(_ secret: [UInt8], _ message: [UInt8]) -> String {
    func sha(_ bytes: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_sha256(bytes, bytes.count, &out)
        return out
    }
    var key = secret.count > 64 ? sha(secret) : secret
    key += [UInt8](repeating: 0, count: 64 - key.count)
    let digest = sha(key.map { $0 ^ 0x5c } + sha(key.map { $0 ^ 0x36 } + message))
    let digits = Array("0123456789abcdef")
    return String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}
