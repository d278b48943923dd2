// The extension `base64` of CEL. The padding at the end of a text may be left out.

internal import Encoding

extension Machine {
    mutating func base64(_ function: Function, _ value: Value, _ code: Code) throws(Failure) -> Value {
        switch (function, value) {
        case (.encodeBase64, .bytes(let bytes)):
            try make((bytes.count + 2) / 3 * 4, code)
            var text: [UInt8] = []
            text.reserveCapacity((bytes.count + 2) / 3 * 4)
            bytes.withUnsafeBufferPointer { Base64.encode($0) { text.append($0) } }
            return .string(TextValue(text))
        case (.decodeBase64, .string(let text)):
            try make(text.bytes.count / 4 * 3 + 3, code)
            guard let bytes = Machine.decodedBase64(text.bytes) else { throw code.failure(.base64) }
            return .bytes(bytes)
        default: throw code.failure(.noOverload)
        }
    }

    /// Returns the bytes of a text in base64. It is nil if the text is not base64.
    private static func decodedBase64(_ text: [UInt8]) -> [UInt8]? {
        var digits = text[...]
        while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits.removeLast() }
        guard digits.count % 4 != 1, digits.count == text.count || text.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for digit in digits {
            guard let value = value(ofDigit: digit) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        assert(count < 6, "a digit of base64 is left over")
        return bytes
    }

    private static func value(ofDigit digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
