// Compares the keys that clients send with those of the configuration. The time of a comparison depends neither on where two keys differ
// nor on which configured key matches.

internal import Plans

enum Credentials {
    /// Returns the key of an Authorization header: the value after `Bearer`, or the user name of `Basic`, or its password if the user name
    /// is empty.
    static func key(_ authorization: String?) -> [UInt8]? {
        guard let authorization, let space = authorization.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let scheme = authorization[..<space].lowercased()
        let rest = authorization[space...].utf8.drop { $0 == UInt8(ascii: " ") }
        switch scheme {
        case "bearer": return rest.isEmpty ? nil : Array(rest)
        case "basic":
            guard let pair = base64Decoded(rest), let colon = pair.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let key = colon > 0 ? pair[..<colon] : pair[(colon + 1)...]
            return key.isEmpty ? nil : Array(key)
        default: return nil
        }
    }

    static func base64Decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for byte in text {
            let value: UInt8
            switch byte {
            case 0x41...0x5A: value = byte - 0x41
            case 0x61...0x7A: value = byte - 0x61 + 26
            case 0x30...0x39: value = byte - 0x30 + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                padding += 1
                continue
            default: return nil
            }
            guard padding == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return padding <= 2 && count < 6 ? bytes : nil
    }
}

struct KeyRing: Sendable {
    private let keys: [AccessKey]
    private let isOpen: Bool

    init(_ plan: HTTPSourcePlan) {
        keys = plan.keys
        isOpen = plan.isOpen || plan.keys.isEmpty
    }

    /// Checks that the sender of this key may use the dialect. Returns the number of the key, counted from 1, if the key limits the routes
    /// or may write the ledger; otherwise 0.
    @discardableResult func judge(_ sent: [UInt8]?, dialect: String) throws(Refusal) -> Int {
        if isOpen { return 0 }
        guard let sent else { throw .noKey }
        var found: Int?
        for (index, key) in keys.enumerated() {
            for secret in key.secrets where KeyRing.isSame(sent, secret) { found = index }
        }
        guard let found else { throw .wrongKey }
        if let dialects = keys[found].dialects, !dialects.contains(dialect) { throw .otherKey }
        return keys[found].routes == nil && keys[found].consent == nil ? 0 : found + 1
    }

    /// Compares two keys. The time depends only on the length of the sent key.
    static func isSame(_ sent: [UInt8], _ secret: [UInt8]) -> Bool {
        var difference = sent.count ^ secret.count
        for index in sent.indices { difference |= Int(sent[index] ^ (secret.isEmpty ? 0 : secret[index % secret.count])) }
        return difference == 0
    }
}
