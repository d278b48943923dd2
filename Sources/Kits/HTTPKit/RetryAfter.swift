// Parses the header Retry-After: seconds, or one of the three date formats of HTTP. An invalid value counts as absent.

internal import PluginKit

enum RetryAfter {
    /// The longest pause, one hour. No server may pause a lane for longer.
    static let most: UInt64 = 3_600_000

    /// Returns the pause in milliseconds from now, or nil if the header asks for none. `wall` is in nanoseconds since 1970.
    static func milliseconds(_ text: some Sequence<UInt8>, wall: Int64) -> UInt64? {
        let words = Array(text).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") }
        if words.count == 1, let digits = words.first, digits.allSatisfy(isDigit) {
            // More than 9 digits are always more than an hour.
            let seconds = digits.drop { $0 == UInt8(ascii: "0") }
            return seconds.count > 9 ? most : cap((number(seconds) ?? 0) * 1000)
        }
        guard let second = date(words.map { Array($0) }, wall: wall) else { return nil }
        return cap(second * 1000 - wall / 1_000_000)
    }

    private static func cap(_ milliseconds: Int64) -> UInt64? { milliseconds <= 0 ? nil : min(UInt64(milliseconds), most) }

    /// Returns the date in seconds since 1970. The formats are `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun
    /// Nov  6 08:49:37 1994`.
    private static func date(_ words: [[UInt8]], wall: Int64) -> Int64? {
        let zone = Array("GMT".utf8)
        switch words.count {
        case 6 where words[5] == zone:
            return second(day: words[1], month: words[2], year: number(words[3]), time: words[4])
        case 4 where words[3] == zone:
            let parts = words[1].split(separator: UInt8(ascii: "-"))
            guard parts.count == 3, parts[2].count == 2, let short = number(parts[2]) else { return nil }
            // A year of two digits is in this century, unless that is more than 50 years in the future.
            let year = 1970 + wall / 31_556_952_000_000_000
            let full = year / 100 * 100 + short
            return second(day: parts[0], month: parts[1], year: full > year + 50 ? full - 100 : full, time: words[2])
        case 5:
            return second(day: words[2], month: words[1], year: number(words[4]), time: words[3])
        default: return nil
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].map { Array($0.utf8) }

    private static func second(day: some Collection<UInt8>, month: some Collection<UInt8>, year: Int64?, time: some Collection<UInt8>)
        -> Int64?
    {
        let clock = Array(time).split(separator: UInt8(ascii: ":")).map { number($0) }
        guard let day = number(day), 1...31 ~= day, let month = months.firstIndex(of: Array(month)), let year, 1970...9999 ~= year,
            clock.count == 3, let hour = clock[0], 0...23 ~= hour, let minute = clock[1], 0...59 ~= minute,
            let second = clock[2], 0...60 ~= second
        else { return nil }
        // The number of days in the Gregorian calendar, with years that begin in March.
        let shifted = month < 2 ? year - 1 : year
        let sinceMarch = Int64((month + 10) % 12)
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (153 * sinceMarch + 2) / 5 + day - 1 - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard digits.count <= 9, digits.allSatisfy(isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}
