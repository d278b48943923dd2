// Reads the bits of a base64url text in place: each character holds six bits, the highest first. It promises to read nothing beyond the end
// of the text. A read beyond the end gives 0 and sets `isOverrun`.

struct Bits: BitwiseCopyable {
    private let text: UnsafePointer<UInt8>
    let count: Int
    private(set) var position = 0
    /// True if more bits were read than there are.
    private(set) var isOverrun = false

    /// Returns nil if the text is empty or holds a character that is not base64url, such as `=`.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard let base = text.baseAddress, !text.isEmpty else { return nil }
        for byte in text where Bits.value(of: byte) == nil { return nil }
        self.text = base
        count = text.count * 6
    }

    mutating func take(_ width: Int) -> Int {
        assert((1...62).contains(width), "a field is wider than a number")
        guard width <= count - position else {
            isOverrun = true
            position = count
            return 0
        }
        var value = 0
        var rest = width
        while rest > 0 {
            let offset = position % 6
            let step = min(6 - offset, rest)
            let six = Bits.value(of: text[position / 6]) ?? 0
            value = value << step | six >> (6 - offset - step) & (1 << step - 1)
            position += step
            rest -= step
            assert(position <= count, "a field ends after the text")
        }
        return value
    }

    mutating func takeFlag() -> Bool { take(1) == 1 }

    mutating func skip(_ width: Int) {
        assert(width >= 0, "the reader goes back")
        guard width <= count - position else {
            isOverrun = true
            position = count
            return
        }
        position += width
    }

    /// Returns the flag that is `distance` bits ahead.
    func flag(ahead distance: Int) -> Bool {
        var bits = self
        bits.skip(distance)
        return bits.takeFlag()
    }

    /// True if only zero bits follow.
    var endsInZeros: Bool {
        var bits = self
        while bits.position < bits.count {
            if bits.take(min(48, bits.count - bits.position)) != 0 { return false }
        }
        return true
    }

    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) + 4
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Iterates over the parts of a text between separators, including empty parts.
struct Parts {
    private var rest: UnsafeBufferPointer<UInt8>?
    private let separator: UInt8

    init(of text: UnsafeBufferPointer<UInt8>, at separator: UInt8) {
        rest = text
        self.separator = separator
    }

    mutating func next() -> UnsafeBufferPointer<UInt8>? {
        guard let text = rest else { return nil }
        guard let end = text.firstIndex(of: separator) else {
            rest = nil
            return text
        }
        rest = UnsafeBufferPointer(rebasing: text[(end + 1)...])
        return UnsafeBufferPointer(rebasing: text[..<end])
    }
}
