// Sizes, times and rates as configurations write them: a number and its unit, `16MB`, `512KiB`, `500ms`, `24h`, `100/s`.

public struct Unit: Sendable {
    public var name: String
    /// The size of the unit: in bytes, in milliseconds, or in events per day.
    public var scale: Int
}

/// One kind of quantity with its units. The units of each family are in rising order.
public struct Quantity: Sendable {
    public var name: String
    public var examples: String
    public var units: [Unit]
    /// The smallest amount, which cannot be divided.
    var atom: String
    /// The largest value that is accepted.
    var most: Int
    /// The units that a fault suggests for a number without a unit. If the list is empty, the fault suggests the shortest notation.
    var usual: [String] = []

    public static let size = Quantity(
        name: "size", examples: "\"16MB\" or \"512KiB\"",
        units: [
            Unit(name: "B", scale: 1), Unit(name: "KB", scale: 1000), Unit(name: "MB", scale: 1_000_000),
            Unit(name: "GB", scale: 1_000_000_000),
            Unit(name: "KiB", scale: 1 << 10), Unit(name: "MiB", scale: 1 << 20), Unit(name: "GiB", scale: 1 << 30),
        ], atom: "B", most: 1 << 62)
    /// A time is at most a century, so that 64 bits hold its nanoseconds.
    public static let time = Quantity(
        name: "time", examples: "\"500ms\" or \"24h\"",
        units: [
            Unit(name: "ms", scale: 1), Unit(name: "s", scale: 1000), Unit(name: "m", scale: 60_000), Unit(name: "h", scale: 3_600_000),
            Unit(name: "d", scale: 86_400_000),
        ], atom: "ms", most: 36_525 * 86_400_000, usual: ["ms", "s"])
    public static let rate = Quantity(
        name: "rate", examples: "\"100/s\" or \"30/m\"",
        units: [
            Unit(name: "/d", scale: 1), Unit(name: "/h", scale: 24), Unit(name: "/m", scale: 1440), Unit(name: "/s", scale: 86_400),
        ], atom: "events a day", most: 1_000_000_000 * 86_400, usual: ["/s"])

    public struct Fault: Error {
        /// The text behind "must be a size such as …, is …". It is empty if there is nothing to add.
        public var hint = ""
    }

    /// Returns the value in bytes, in milliseconds, or in events per day. The range limits only what a fault suggests.
    public func parse(_ text: String, in range: ClosedRange<Int> = 1 ... .max) throws(Fault) -> Int {
        let bytes = Array(text.utf8)
        let whole = bytes.prefix(while: Lexer.isDigit)
        var rest = bytes[whole.endIndex...]
        var fraction = rest[rest.startIndex..<rest.startIndex]
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: Lexer.isDigit)
            guard !fraction.isEmpty else { throw Fault() }
            rest = rest[fraction.endIndex...]
        }
        guard !whole.isEmpty else { throw Fault() }
        let name = String(decoding: rest, as: UTF8.self)
        let number = String(decoding: bytes[..<rest.startIndex], as: UTF8.self)
        guard !name.isEmpty else { throw Fault(hint: hint(forUnitless: number, in: range)) }
        guard let unit = units.first(where: { $0.name == name }) else {
            let bare = name.trimmingSpaces
            let near = units.first { $0.name == bare } ?? units.first { $0.name.lowercased() == bare.lowercased() }
            throw Fault(hint: near.map { ", did you mean \"\(number)\($0.name)\"?" } ?? ", the units are \(Words.all(units.map(\.name)))")
        }
        guard let value = Quantity.multiply(whole, fraction, by: unit.scale) else {
            throw Fault(hint: ", which is not a whole number of \(atom)")
        }
        guard value <= most else { throw Fault(hint: ", which is too large") }
        return value
    }

    /// Returns the hint for a number without a unit. The hint never suggests a value that is out of the range.
    public func hint(forUnitless number: String, in range: ClosedRange<Int>) -> String {
        guard let value = Int(number), value >= 0 else { return ", it needs a unit" }
        let meanings = usual.isEmpty ? [text(value)] : usual.map { "\(value)\($0)" }
        let possible = meanings.filter { (try? parse($0, in: range)).map(range.contains) == true }.map { "\"\($0)\"" }
        return possible.isEmpty ? "" : ", did you mean \(Words.either(possible))?"
    }

    /// Returns a value in the range, for examples: a round one if there is one.
    public func shown(in range: ClosedRange<Int>) -> String {
        let round = ["16MB", "100KB", "30s", "100ms", "100/s"].first { (try? parse($0)).map(range.contains) ?? false }
        return round ?? text(range.lowerBound)
    }

    /// Returns the shortest exact notation of the value.
    public func text(_ value: Int) -> String {
        var best = "\(value)\(units[0].name)"
        guard value > 0 else { return best }
        for unit in units where value % unit.scale == 0 {
            let text = "\(value / unit.scale)\(unit.name)"
            if text.utf8.count < best.utf8.count { best = text }
        }
        return best
    }

    /// Returns the product, or nil if it is not whole or the fraction has more than 9 digits. Returns the largest integer on overflow.
    private static func multiply(_ whole: ArraySlice<UInt8>, _ fraction: ArraySlice<UInt8>, by scale: Int) -> Int? {
        guard fraction.count <= 9 else { return nil }
        var digits = 0
        for byte in whole + fraction {
            let (product, over) = digits.multipliedReportingOverflow(by: 10)
            let (sum, over2) = product.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            if over || over2 { return .max }
            digits = sum
        }
        var divisor = 1
        for _ in fraction { divisor *= 10 }
        let (value, over) = digits.multipliedReportingOverflow(by: scale)
        if over { return .max }
        return value % divisor == 0 ? value / divisor : nil
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
