// UUIDs from message ids: the id itself if it is a UUID, or else one that is derived from it (RFC 9562, version 5), so that an event that
// is sent again has the same one.

internal import Encoding
internal import Events

extension WireEvents {
    /// Writes a member with the UUID of the event. It writes nothing if the event has no id. The id counts as written only if it is a UUID
    /// itself.
    public mutating func member(_ key: StaticString, uuidOf event: CanonicalEvent) {
        guard let id = event.messageId else { return }
        if id.isUUID { return member(key, id) }
        let uuid = id.derivedUUID
        write(key: key)
        put(byte: UInt8(ascii: "\""))
        UUIDs.write(uuid) { put(byte: $0) }
        put(byte: UInt8(ascii: "\""))
    }
}

extension Value {
    /// True for the text of a UUID: 32 hexadecimal digits with four hyphens.
    public var isUUID: Bool {
        let body = body
        guard body.count == 36 else { return false }
        for index in 0..<36 {
            switch index {
            case 8, 13, 18, 23: if body[index] != UInt8(ascii: "-") { return false }
            default:
                let byte = body[index]
                guard byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 else { return false }
            }
        }
        return true
    }

    /// The 16 bytes of the UUID of version 5 that is derived from an id: the same for the same id.
    public var derivedUUID: [UInt8] {
        withText { text in
            // An id that is a number, or that is no text, is hashed as it is written.
            UUIDs.derived(from: text ?? UnsafeBufferPointer(start: base, count: count))
        }
    }
}

enum UUIDs {
    /// The namespace of the ids that Switchyard derives: the UUID of version 5 of "switchyard" in the namespace of DNS names.
    static let namespace: [UInt8] = Array(
        derived(
            from: Array("switchyard".utf8),
            in: [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]))

    static func derived(from text: UnsafeBufferPointer<UInt8>) -> [UInt8] { derived(from: text, in: namespace) }

    static func derived(from text: some Collection<UInt8>, in namespace: [UInt8]) -> [UInt8] {
        var uuid = Array(SHA1.hash(namespace + text).prefix(16))
        uuid[6] = uuid[6] & 0x0f | 0x50
        uuid[8] = uuid[8] & 0x3f | 0x80
        return uuid
    }

    static func write(_ uuid: [UInt8], _ put: (UInt8) -> Void) {
        for (index, byte) in uuid.enumerated() {
            if [4, 6, 8, 10].contains(index) { put(UInt8(ascii: "-")) }
            put(lowerHexDigit(byte >> 4))
            put(lowerHexDigit(byte))
        }
    }
}

/// SHA-1, which version 5 of UUIDs demands. It protects nothing here.
enum SHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: (message.count * 8) >> shift)) }
        var words = [UInt32](repeating: 0, count: 80)
        for start in stride(from: 0, to: bytes.count, by: 64) {
            for index in 0..<16 {
                words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[start + index * 4 + $1]) }
            }
            for index in 16..<80 {
                words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1)
            }
            add(words, to: &state)
        }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - $0 * 8)) } }
    }

    private static func add(_ words: [UInt32], to state: inout [UInt32]) {
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case 0..<20: (b & c | ~b & d, 0x5a82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ed9_eba1)
                case 40..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            (a, b, c, d, e) = (rotated(a, by: 5) &+ mixed &+ e &+ constant &+ words[index], a, rotated(b, by: 30), c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
