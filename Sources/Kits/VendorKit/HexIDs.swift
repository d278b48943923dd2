// The id of an event as 32 hexadecimal digits, for vendors that want a UUID without hyphens. An event always has one, and it is the same
// when the event is sent again.

internal import Events

extension WireEvents {
    /// Writes a member with 32 hexadecimal digits in lower case: those of the messageId, if it is a UUID that is not all zeros, or else of
    /// one that is derived from it. Without a messageId they are derived from the event and its arrival. The messageId counts as written
    /// only if it is the id itself.
    public mutating func member(_ key: StaticString, hexIDOf event: CanonicalEvent) {
        write(key: key)
        put(byte: UInt8(ascii: "\""))
        let hyphen = UInt8(ascii: "-")
        if let id = event.messageId, id.isUUID, id.body.contains(where: { $0 != UInt8(ascii: "0") && $0 != hyphen }) {
            // The letters of a UUID are A to F, and digits have this bit already.
            for byte in id.body where byte != hyphen { put(byte: byte | 0x20) }
            take(id)
        } else if let id = event.messageId {
            id.withText { putHexID(from: $0 ?? UnsafeBufferPointer(start: id.base, count: id.count)) }
        } else {
            let whole = Array(event.whole.json) + Array("\(event.arrival)".utf8)
            whole.withUnsafeBufferPointer { putHexID(from: $0) }
        }
        put(byte: UInt8(ascii: "\""))
    }

    private mutating func putHexID(from text: UnsafeBufferPointer<UInt8>) {
        UUIDs.withDerived(from: text) { uuid in
            UUIDs.write(uuid) { if $0 != UInt8(ascii: "-") { put(byte: $0) } }
        }
    }
}
