// `limit` and `lower`: make strings shorter, or lower case. Other values stay as they are.

internal import Events
internal import Redaction

/// Keeps the first `most` characters of a string. A character is a Unicode code point. An escape is never split.
final class LimitChange: Changing {
    private let most: Int

    init(_ most: Int) { self.most = most }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\""), value.count - 2 > most else { return .unchanged }
        let end = value.count - 1
        var at = 1
        var count = 0
        while at < end, count < most {
            at += LimitChange.width(value.base + at, left: end - at)
            count += 1
        }
        guard at < end else { return .unchanged }
        out.put(value.base, at)
        out.put(UInt8(ascii: "\""))
        return .put
    }

    /// Returns the number of bytes of the character at `p`, as it is written.
    private static func width(_ p: Bytes, left: Int) -> Int {
        guard p[0] == UInt8(ascii: "\\") else {
            return p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4
        }
        guard p[1] == UInt8(ascii: "u") else { return 2 }
        // Two escaped surrogates that are one character.
        let isHigh =
            p[2] | 0x20 == UInt8(ascii: "d")
            && [UInt8(ascii: "8"), UInt8(ascii: "9"), 0x61, 0x62].contains(p[3] | (p[3] > 0x39 ? 0x20 : 0))
        let hasLow =
            left >= 12 && p[6] == UInt8(ascii: "\\") && p[7] == UInt8(ascii: "u") && p[8] | 0x20 == UInt8(ascii: "d")
            && (p[9] | 0x20) &- 0x63 < 4
        return isHigh && hasLow ? 12 : 6
    }
}

/// Converts strings to lower case by the rules of Unicode. In a string with a lone surrogate, only ASCII letters change.
final class LowerChange: Changing {
    private var decoder = Decoder()

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\"") else { return .unchanged }
        let raw = ByteRun(base: value.base + 1, count: value.count - 2)
        var isPlain = true
        var hasCapital = false
        for byte in raw.bytes {
            isPlain = isPlain && byte < 0x80 && byte != UInt8(ascii: "\\")
            hasCapital = hasCapital || byte &- 0x41 < 26
        }
        if isPlain, !hasCapital { return .unchanged }
        if !isPlain, let text = decoder.decode(raw) { return lower(text, raw: raw, into: &out) }
        out.put(UInt8(ascii: "\""))
        var isEscaped = false
        for byte in raw.bytes {
            out.put(byte &- 0x41 < 26 && !isEscaped ? byte | 0x20 : byte)
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        out.put(UInt8(ascii: "\""))
        return .put
    }

    private func lower(_ text: ByteRun, raw: ByteRun, into out: inout Replacements) -> ValueOutcome {
        let before = String(decoding: text.bytes, as: UTF8.self)
        let after = before.lowercased()
        if before.utf8.elementsEqual(after.utf8) { return .unchanged }
        out.put(UInt8(ascii: "\""))
        for byte in after.utf8 { JSONText.escape(byte) { out.put($0) } }
        out.put(UInt8(ascii: "\""))
        return .put
    }
}
