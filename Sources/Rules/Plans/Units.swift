// Times and rates as the configuration writes them.

internal import Document

extension Duration {
    /// Reads a time as the configuration writes it, such as `500ms`. The result is nil if the text is not a time.
    public init?(configured text: String) {
        guard let milliseconds = try? Quantity.time.parse(text) else { return nil }
        self = .milliseconds(milliseconds)
    }

    /// The time as the configuration writes it, in the largest unit that gives a whole number.
    public var configured: String {
        let milliseconds = Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
        let unit = Quantity.time.units.last { milliseconds % $0.scale == 0 && milliseconds >= $0.scale } ?? Quantity.time.units[0]
        return "\(milliseconds / unit.scale)\(unit.name)"
    }
}

extension EventRate {
    /// The shortest exact notation of the rate.
    public var configured: String { Quantity.rate.text(perDay) }
}
