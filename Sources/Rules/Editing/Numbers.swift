// Reads the number of a value, for the operations that make numbers coarser.

internal import Events
internal import Glibc

/// Returns the number that the value is, or that its string contains. Returns nil if there is no finite number of fewer than 400 bytes.
func numberIn(_ value: ByteRun) -> Double? {
    var text = value
    if value.base[0] == UInt8(ascii: "\"") {
        text = ByteRun(base: value.base + 1, count: value.count - 2)
        guard text.count > 0, text.isNumber else { return nil }
        // The string must be a number as JSON writes it, and nothing else.
        for byte in text.bytes where !isNumberByte(byte) { return nil }
    }
    guard text.isNumber, text.count < 400 else { return nil }
    return text.bytes.withMemoryRebound(to: CChar.self) { bytes -> Double? in
        var end: UnsafeMutablePointer<CChar>?
        let number = strtod(bytes.baseAddress!, &end)
        guard let end, end - UnsafeMutablePointer(mutating: bytes.baseAddress!) == text.count, number.isFinite else { return nil }
        return number
    }
}

private func isNumberByte(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || [UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains(byte)
}
