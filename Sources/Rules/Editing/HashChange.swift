// `hash` with options. With the name of its key before the digits, the key can be replaced later. With fewer digits, an id stays short.

internal import Events
internal import Redaction

final class HashChange: Changing {
    private let key: HMACKey
    private let prefix: [UInt8]
    private let digits: Int
    private let keepsDigests: Bool
    private let room: UnsafeMutablePointer<UInt8>
    private var decoder = Decoder()

    init(_ key: HMACKey, name: String?, digits: Int, keepsDigests: Bool) {
        self.key = key
        prefix = name.map { Array(JSONText.body($0 + ":")) } ?? []
        self.digits = digits
        self.keepsDigests = keepsDigests
        room = .allocate(capacity: 64 + Words.slack)
    }

    deinit { room.deallocate() }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        if keepsDigests, isOwn(value) { return .unchanged }
        key.write(decoder.message(of: value), to: room)
        out.put(UInt8(ascii: "\""))
        prefix.withUnsafeBufferPointer { if let base = $0.baseAddress { out.put(base, $0.count) } }
        out.put(Bytes(room), digits)
        out.put(UInt8(ascii: "\""))
        return .put
    }

    /// Returns true if the value has the form that this change writes.
    private func isOwn(_ value: ByteRun) -> Bool {
        guard value.count == prefix.count + digits + 2, value.base[0] == UInt8(ascii: "\"") else { return false }
        for (index, byte) in prefix.enumerated() where value.base[1 + index] != byte { return false }
        return (0..<digits).allSatisfy { index in
            let byte = value.base[1 + prefix.count + index]
            return byte &- 0x30 < 10 || byte &- UInt8(ascii: "a") < 6
        }
    }
}
