// JSON allows a text to have an escape for one half of a surrogate pair without the other. That is no text of Unicode, and many parsers
// refuse a whole body for it. Such an escape becomes the one of U+FFFD, which has the same length. All other bytes stay.

internal import Events

enum LoneSurrogates {
    /// Replaces them in valid JSON.
    static func replace(in json: UnsafeMutableBufferPointer<UInt8>) {
        guard let base = json.baseAddress, contains(UInt8(ascii: "\\"), p: base, count: json.count) else { return }
        var i = 0
        while i < json.count {
            guard json[i] == UInt8(ascii: "\\") else {
                i += 1
                continue
            }
            guard let unit = escaped(in: json, at: i) else {
                i += 2
                continue
            }
            switch unit {
            case 0xd800..<0xdc00:
                if let low = escaped(in: json, at: i + 6), (0xdc00..<0xe000).contains(low) {
                    i += 12
                    continue
                }
                put(json, at: i)
            case 0xdc00..<0xe000: put(json, at: i)
            default: break
            }
            i += 6
        }
    }

    /// Returns the number of the escape `\uXXXX` that begins at a place, or nil if there is another one or none.
    private static func escaped(in json: UnsafeMutableBufferPointer<UInt8>, at place: Int) -> UInt32? {
        guard place + 6 <= json.count, json[place] == UInt8(ascii: "\\"), json[place + 1] == UInt8(ascii: "u") else { return nil }
        var number: UInt32 = 0
        for index in 2..<6 {
            let byte = json[place + index]
            let digit = byte < UInt8(ascii: "A") ? byte &- UInt8(ascii: "0") : (byte | 0x20) &- UInt8(ascii: "a") &+ 10
            number = number << 4 | UInt32(digit & 15)
        }
        return number
    }

    private static func put(_ json: UnsafeMutableBufferPointer<UInt8>, at place: Int) {
        for (index, byte) in "fffd".utf8.enumerated() { json[place + 2 + index] = byte }
    }
}
