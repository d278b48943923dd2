// The bits of a text in base64url, read where it lies: each character holds six of them, the highest first.
// It promises to read nothing beyond its end: what is asked for there is 0, and the reading says that it overran.

struct Bits: BitwiseCopyable {
    private let text: UnsafePointer<UInt8>
    let count: Int
    private(set) var position = 0
    /// More was asked for than there is.
    private(set) var isOverrun = false

    /// nil: the text is empty, or holds a character that stands for no bits; `=` is one.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard let base = text.baseAddress, !text.isEmpty else { return nil }
        for byte in text where Bits.value(of: byte) == nil { return nil }
        self.text = base
        count = text.count * 6
    }

    mutating func take(_ width: Int) -> Int {
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
        }
        return value
    }

    mutating func takeFlag() -> Bool { take(1) == 1 }

    mutating func skip(_ width: Int) {
        guard width <= count - position else {
            isOverrun = true
            position = count
            return
        }
        position += width
    }

    /// The flag that lies so many bits further on.
    func flag(ahead distance: Int) -> Bool {
        var bits = self
        bits.skip(distance)
        return bits.takeFlag()
    }

    /// Whether nothing but filling follows.
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

/// Walks the parts of a text that a separator divides; also empty ones.
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
