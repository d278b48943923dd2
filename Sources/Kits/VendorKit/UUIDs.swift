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
        write(key: key)
        put(byte: UInt8(ascii: "\""))
        id.withDerivedUUID { uuid in
            UUIDs.write(uuid) { put(byte: $0) }
        }
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
    public var derivedUUID: [UInt8] { withDerivedUUID { Array($0) } }

    func withDerivedUUID<R>(_ use: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        withText { text in
            // An id that is a number is hashed as it is written.
            UUIDs.withDerived(from: text ?? UnsafeBufferPointer(start: base, count: count), use)
        }
    }
}

enum UUIDs {
    /// The namespace of the ids that Switchyard derives: the UUID of version 5 of "switchyard" in the namespace of DNS names.
    static let namespace: [UInt8] = {
        let names: [UInt8] = [0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
        return Array("switchyard".utf8).withUnsafeBufferPointer { withDerived(from: $0, in: names) { Array($0) } }
    }()

    /// Calls `use` with the 16 bytes of the UUID of version 5 of a text.
    static func withDerived<R>(
        from text: UnsafeBufferPointer<UInt8>, in namespace: [UInt8] = namespace, _ use: (UnsafeBufferPointer<UInt8>) -> R
    ) -> R {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: SHA1.size) { digest in
            namespace.withUnsafeBufferPointer { SHA1.hash($0, followedBy: text, into: digest) }
            digest[6] = digest[6] & 0x0f | 0x50
            digest[8] = digest[8] & 0x3f | 0x80
            return use(UnsafeBufferPointer(rebasing: digest[..<16]))
        }
    }

    static func write(_ uuid: UnsafeBufferPointer<UInt8>, _ put: (UInt8) -> Void) {
        for index in uuid.indices {
            if index == 4 || index == 6 || index == 8 || index == 10 { put(UInt8(ascii: "-")) }
            put(lowerHexDigit(uuid[index] >> 4))
            put(lowerHexDigit(uuid[index]))
        }
    }
}
