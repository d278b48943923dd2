// `bin` and `round`: make numbers coarser. A string that contains only a number counts as a number. Any other value is dropped, because it
// would be delivered with more detail than intended.

internal import Events
internal import Glibc
internal import Redaction

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

final class BinChange: Changing {
    private let bounds: [Double]
    /// The label for each number of bounds that a value has passed.
    private let labels: [[UInt8]]

    /// The bounds must rise. If all bounds are whole numbers, the label of each later range begins one above the preceding bound.
    /// Otherwise the labels contain the bounds as they are.
    init(_ texts: [String]) {
        let bounds = texts.map { Double($0)! }
        self.bounds = bounds
        let isWhole = bounds.allSatisfy { $0 == $0.rounded() && abs($0) < 1e15 }
        func low(_ index: Int) -> String { isWhole && index > 0 ? "\(Int64(bounds[index]) + 1)" : texts[index] }
        var labels = ["<\(texts[0])"]
        for index in texts.indices.dropLast() { labels.append("\(low(index))-\(texts[index + 1])") }
        labels.append("\(texts[texts.count - 1])+")
        self.labels = labels.map { Array("\"\($0)\"".utf8) }
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard let number = numberIn(value) else { return .drop }
        // The first range contains both its bounds. Every other range contains only its upper bound.
        var passed = number < bounds[0] ? 0 : 1
        if passed > 0 { while passed < bounds.count, number > bounds[passed] { passed += 1 } }
        labels[passed].withUnsafeBufferPointer { out.put($0.baseAddress!, $0.count) }
        return .put
    }
}

final class RoundChange: Changing {
    private let step: Double
    /// The number of digits of the step after the decimal point.
    private let digits: Int

    init(_ text: String) {
        step = Double(text)!
        digits = text.utf8.firstIndex(of: UInt8(ascii: ".")).map { text.utf8.distance(from: $0, to: text.utf8.endIndex) - 1 } ?? 0
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard let number = numberIn(value) else { return .drop }
        let steps = (number / step).rounded(.toNearestOrAwayFromZero)
        // A Double does not represent larger results exactly, so the number stays as it is.
        guard abs(steps) < 9e15, abs(steps * step) < 9e15 else { return .unchanged }
        write(steps * step, &out)
        return .put
    }

    /// Writes the number with at most the digits of the step, without zeros at the end.
    private func write(_ number: Double, _ out: inout Replacements) {
        var scale: Int64 = 1
        for _ in 0..<digits { scale *= 10 }
        // The two parts are separate because a large number with many digits after the decimal point does not fit in 64 bits.
        var whole = Int64(abs(number))
        var fraction = Int64(((abs(number) - Double(whole)) * Double(scale)).rounded())
        if fraction == scale { (whole, fraction) = (whole + 1, 0) }
        let isZero = whole == 0 && fraction == 0
        var text = "\(whole)"
        if fraction > 0 {
            var width = digits
            while fraction % 10 == 0 {
                fraction /= 10
                width -= 1
            }
            let shown = "\(fraction)"
            text += "." + String(repeating: "0", count: width - shown.utf8.count) + shown
        }
        if number < 0, !isZero { text = "-" + text }
        text.withUTF8 { out.put($0.baseAddress!, $0.count) }
    }
}
