// Writes times in the router's form, `2026-11-21T10:30:00.123Z`. Times are nanoseconds since 1970 and range from the year 1677 to 2262.

public enum TimeText {
    /// The digits of a fraction of a second.
    public enum Fraction: Sendable {
        /// Three digits. The rest is cut off.
        case milliseconds
        /// Three digits, or six or nine if the time needs them.
        case exact
    }

    /// Calls `put` with the characters.
    @inlinable
    public static func write(_ time: Int64, to fraction: Fraction, _ put: (UInt8) -> Void) {
        let (seconds, nanoseconds) = split(Int(time), by: 1_000_000_000)
        let (days, second) = split(seconds, by: 86_400)
        let date = CivilDate(daysSince1970: days)
        digits(date.year, count: 4, put)
        put(UInt8(ascii: "-"))
        digits(date.month, count: 2, put)
        put(UInt8(ascii: "-"))
        digits(date.day, count: 2, put)
        put(UInt8(ascii: "T"))
        digits(second / 3600, count: 2, put)
        put(UInt8(ascii: ":"))
        digits(second / 60 % 60, count: 2, put)
        put(UInt8(ascii: ":"))
        digits(second % 60, count: 2, put)
        put(UInt8(ascii: "."))
        if fraction == .milliseconds || nanoseconds % 1_000_000 == 0 {
            digits(nanoseconds / 1_000_000, count: 3, put)
        } else if nanoseconds % 1000 == 0 {
            digits(nanoseconds / 1000, count: 6, put)
        } else {
            digits(nanoseconds, count: 9, put)
        }
        put(UInt8(ascii: "Z"))
    }

    /// Returns the quotient, rounded down, and the rest, which is never negative.
    @usableFromInline
    static func split(_ number: Int, by divisor: Int) -> (quotient: Int, rest: Int) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    @usableFromInline
    static func digits(_ value: Int, count: Int, _ put: (UInt8) -> Void) {
        var unit = 1
        for _ in 1..<count { unit *= 10 }
        while unit > 0 {
            put(UInt8(truncatingIfNeeded: value / unit % 10) + 0x30)
            unit /= 10
        }
    }
}
