// The ids that Google gives a browser (client_id) or an installed app (app_instance_id).

import VendorKit

enum GoogleID {
    /// True for two positive numbers with a point between them, as gtag.js makes them, or the 32 hexadecimal digits of Firebase.
    static func isOne(_ id: Value, isApp: Bool) -> Bool {
        let body = id.body
        func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
        if isApp { return body.count == 32 && body.allSatisfy { isDigit($0) || ($0 | 0x20) &- 0x61 < 6 } }
        let parts = body.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { $0.count <= 20 && $0.allSatisfy(isDigit) && $0.contains { $0 != 0x30 } }
    }

    /// Writes the member with an id of that form, made of the bytes.
    static func write(_ bytes: [UInt8], isApp: Bool, to wire: inout WireEvents) {
        if isApp {
            wire.write(key: "app_instance_id")
            wire.put(byte: UInt8(ascii: "\""))
            for byte in bytes { for digit in [byte >> 4, byte & 15] { wire.put(byte: digit < 10 ? 0x30 + digit : 0x57 + digit) } }
        } else {
            wire.write(key: "client_id")
            wire.put(byte: UInt8(ascii: "\""))
            func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } % 0x7fff_ffff + 1 }
            wire.put(number: number(bytes[0..<4]))
            wire.put(byte: UInt8(ascii: "."))
            wire.put(number: number(bytes[12..<16]))
        }
        wire.put(byte: UInt8(ascii: "\""))
    }
}
