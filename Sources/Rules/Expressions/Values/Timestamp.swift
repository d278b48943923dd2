// Times between the years 1 and 9999 with nanoseconds, the texts of times and durations, and the calendar.

internal import Encoding

public struct Timestamp: Hashable, Comparable, Sendable {
    /// The seconds since 1970 in UTC.
    public let seconds: Int64
    /// The nanoseconds after that second, from 0 to 999,999,999.
    public let nanoseconds: Int32

    private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// It is nil outside the years 1 to 9999.
    public init?(seconds: Int64, nanoseconds: Int32 = 0) {
        guard Timestamp.range.contains(seconds) else { return nil }
        assert((0..<1_000_000_000).contains(nanoseconds), "the nanoseconds make up a second or more")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public init(nanosecondsSince1970 total: Int64) {
        let second: Int64 = 1_000_000_000
        let rest = (total % second + second) % second
        seconds = (total - rest) / second
        nanoseconds = Int32(rest)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds) }

    func adding(_ duration: Int64, sign: Int64) -> Timestamp? {
        let second: Int64 = 1_000_000_000
        var whole = duration / second * sign
        var fraction = Int64(nanoseconds) + duration % second * sign
        if fraction < 0 {
            fraction += second
            whole -= 1
        } else if fraction >= second {
            fraction -= second
            whole += 1
        }
        return Timestamp(seconds: seconds + whole, nanoseconds: Int32(fraction))
    }

    /// Returns the nanoseconds since another time. It is nil if they do not fit into 64 bits.
    func since(_ other: Timestamp) -> Int64? {
        let (scaled, over) = (seconds - other.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = scaled.addingReportingOverflow(Int64(nanoseconds) - Int64(other.nanoseconds))
        return over || carry ? nil : sum
    }

    /// Reads a time of RFC 3339, such as `2009-02-13T23:31:30.123Z`. It is nil if the text is not one.
    init?(_ text: [UInt8]) {
        var reader = DigitReader(text)
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"), let day = reader.number(2),
            reader.take("T") || reader.take("t") || reader.take(" "), let hour = reader.number(2), reader.take(":"),
            let minute = reader.number(2), reader.take(":"), let second = reader.number(2)
        else { return nil }
        var fraction: Int64 = 0
        if reader.take(".") {
            guard let value = reader.fraction() else { return nil }
            fraction = value
        }
        var offset: Int64 = 0
        if !reader.take("Z"), !reader.take("z") {
            let sign: Int64
            if reader.take("+") { sign = 1 } else if reader.take("-") { sign = -1 } else { return nil }
            guard let hours = reader.number(2), reader.take(":"), let minutes = reader.number(2), hours < 24, minutes < 60 else {
                return nil
            }
            offset = sign * (hours * 3600 + minutes * 60)
        }
        guard reader.isAtEnd, (1...12).contains(month), day >= 1, day <= Civil.days(inMonth: month, year: year), hour < 24, minute < 60,
            second < 60
        else { return nil }
        let days = Civil.days(year: year, month: month, day: day)
        self.init(seconds: days * 86400 + hour * 3600 + minute * 60 + second - offset, nanoseconds: Int32(fraction))
    }

    var text: String {
        let civil = Civil(seconds)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let digits = String(civil.year)
        let year = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        var fraction = ""
        if nanoseconds > 0 { fraction = "." + fractionDigits(UInt64(nanoseconds)) }
        return "\(year)-\(two(civil.month))-\(two(civil.day))T\(two(civil.hour)):\(two(civil.minute)):\(two(civil.second))\(fraction)Z"
    }
}

/// Returns the digits of a fraction in billionths, without trailing zeros.
func fractionDigits(_ billionths: UInt64) -> String {
    var digits = String(billionths)
    digits = String(repeating: "0", count: max(0, 9 - digits.utf8.count)) + digits
    while digits.hasSuffix("0") { digits.removeLast() }
    return digits
}

enum DurationText {
    /// Reads a duration as Go and CEL write it: `1h30m`, `-1.5s`, `250ms`. Returns nil if the text is not a duration, or if its
    /// nanoseconds do not fit into 64 bits.
    static func parse(_ text: [UInt8]) -> Int64? {
        var at = 0
        var isNegative = false
        if let sign = text.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            isNegative = sign == UInt8(ascii: "-")
            at = 1
        }
        if text.count == at + 1, text[at] == UInt8(ascii: "0") { return 0 }
        guard at < text.count else { return nil }
        var total: Int64 = 0
        while at < text.count {
            let start = at
            while at < text.count, isDigit(text[at]) || text[at] == UInt8(ascii: ".") { at += 1 }
            let number = text[start..<at]
            let unitStart = at
            while at < text.count, !isDigit(text[at]), text[at] != UInt8(ascii: ".") { at += 1 }
            guard let unit = units.first(where: { text[unitStart..<at].elementsEqual($0.0.utf8) })?.1,
                let part = scaled(number, by: unit)
            else { return nil }
            let (sum, over) = total.addingReportingOverflow(isNegative ? -part : part)
            if over { return nil }
            total = sum
        }
        return total
    }

    private static let units: [(String, Int64)] = [
        ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("µs", 1000), ("ns", 1),
    ]

    private static func scaled(_ number: ArraySlice<UInt8>, by unit: Int64) -> Int64? {
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.contains(where: { !$0.isEmpty }) else { return nil }
        guard let whole = parts[0].isEmpty ? 0 : Int64(String(decoding: parts[0], as: UTF8.self)) else { return nil }
        let (product, over) = whole.multipliedReportingOverflow(by: unit)
        if over { return nil }
        var value = product
        if parts.count == 2 {
            // The fraction is added digit by digit. So everything below a nanosecond is cut, and nothing is rounded twice.
            var place = unit
            var fraction: Int64 = 0
            for digit in parts[1] {
                place /= 10
                fraction += Int64(digit - 0x30) * place
            }
            let (sum, carry) = value.addingReportingOverflow(fraction)
            if carry { return nil }
            value = sum
        }
        return value
    }

    /// Returns a duration in seconds, such as `5430s` or `0.25s`.
    static func text(_ nanoseconds: Int64) -> String {
        let size = nanoseconds.magnitude
        let fraction = size % 1_000_000_000
        return (nanoseconds < 0 ? "-" : "") + "\(size / 1_000_000_000)" + (fraction > 0 ? "." + fractionDigits(fraction) : "") + "s"
    }
}

/// A date and time of the Gregorian calendar, computed from the seconds since 1970.
struct Civil {
    let year, month, day, hour, minute, second: Int64
    /// The day of the week. 0 is Sunday.
    let weekday: Int64
    /// The day of the year. 0 is January 1.
    let yearday: Int64

    init(_ seconds: Int64) {
        let inDay = (seconds % 86400 + 86400) % 86400
        let days = (seconds - inDay) / 86400
        hour = inDay / 3600
        minute = inDay / 60 % 60
        second = inDay % 60
        weekday = ((days + 4) % 7 + 7) % 7
        let date = CivilDate(daysSince1970: Int(days))
        (year, month, day) = (Int64(date.year), Int64(date.month), Int64(date.day))
        yearday = days - Civil.days(year: year, month: 1, day: 1)
        assert((0..<366).contains(yearday) && (1...12).contains(month) && (1...31).contains(day), "a year has no such day")
        assert(Civil.days(year: year, month: month, day: day) == days, "the date is not that of the day")
    }

    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        Int64(CivilDate(year: Int(year), month: Int(month), day: Int(day)).daysSince1970)
    }

    static func days(inMonth month: Int64, year: Int64) -> Int64 { Int64(CivilDate.days(inMonth: Int(month), of: Int(year))) }
}

private struct DigitReader {
    private let text: [UInt8]
    private var at = 0

    init(_ text: [UInt8]) { self.text = text }

    var isAtEnd: Bool { at == text.count }

    mutating func take(_ character: UnicodeScalar) -> Bool {
        guard at < text.count, text[at] == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    mutating func number(_ count: Int) -> Int64? {
        guard at + count <= text.count, text[at..<(at + count)].allSatisfy(isDigit) else { return nil }
        defer { at += count }
        return text[at..<(at + count)].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Reads a fraction in billionths and cuts all further digits.
    mutating func fraction() -> Int64? {
        let start = at
        var value: Int64 = 0
        while at < text.count, isDigit(text[at]) {
            if at - start < 9 { value = value * 10 + Int64(text[at] - 0x30) }
            at += 1
        }
        guard at > start else { return nil }
        for _ in 0..<max(0, 9 - (at - start)) { value *= 10 }
        return value
    }
}
