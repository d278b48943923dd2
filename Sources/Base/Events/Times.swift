// Parses times in the forms of client libraries (RFC 3339 and the looser ISO 8601 of their languages), and writes times in the router's
// form. Times are nanoseconds since 1970 and range from the year 1678 to 2262.

public enum Times {
    public static let second: Int64 = 1_000_000_000

    /// Returns the time of a text, or nil if it is invalid or out of range. A time without an offset is UTC.
    public static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = Reader(text: text)
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"), let day = reader.digits(2),
            (1...12).contains(month), day >= 1, day <= daysInMonth(year, month)
        else { return nil }
        var seconds = days(year, month, day) * 86400
        var nanoseconds = 0
        if !reader.isAtEnd {
            guard reader.take("T") || reader.take("t") || reader.take(" "), let hour = reader.digits(2), reader.take(":"),
                let minute = reader.digits(2), hour < 24, minute < 60
            else { return nil }
            seconds += hour * 3600 + minute * 60
            if reader.take(":") {
                // 60 is a leap second, which the clocks of computers do not have.
                guard let second = reader.digits(2), second <= 60 else { return nil }
                seconds += second
                if reader.take(".") || reader.take(",") {
                    guard let fraction = reader.fraction() else { return nil }
                    nanoseconds = fraction
                }
            }
            guard let offset = reader.offset(), reader.isAtEnd else { return nil }
            seconds -= offset
        }
        let (product, isTooFar) = Int64(seconds).multipliedReportingOverflow(by: second)
        let (sum, isFarther) = product.addingReportingOverflow(Int64(nanoseconds))
        return isTooFar || isFarther ? nil : sum
    }

    /// Appends `"2026-11-21T05:49:23.123Z"`, with six or nine digits after the point if the time needs them.
    public static func write(_ time: Int64, into out: inout ByteBuffer) {
        let nanoseconds = time - floorDivide(time, second) * second
        let seconds = Int(floorDivide(time, second))
        let day = Int(floorDivide(Int64(seconds), 86400))
        let rest = seconds - day * 86400
        assert((0..<86400).contains(rest) && (0..<second).contains(nanoseconds), "a time is outside its day or its second")
        let (year, month, dayOfMonth) = date(day)
        assert(days(year, month, dayOfMonth) == day, "the date is not that of the day")
        out.append(UInt8(ascii: "\""))
        digits(year, 4, into: &out)
        out.append(UInt8(ascii: "-"))
        digits(month, 2, into: &out)
        out.append(UInt8(ascii: "-"))
        digits(dayOfMonth, 2, into: &out)
        out.append(UInt8(ascii: "T"))
        digits(rest / 3600, 2, into: &out)
        out.append(UInt8(ascii: ":"))
        digits(rest / 60 % 60, 2, into: &out)
        out.append(UInt8(ascii: ":"))
        digits(rest % 60, 2, into: &out)
        out.append(UInt8(ascii: "."))
        if nanoseconds % 1_000_000 == 0 {
            digits(Int(nanoseconds) / 1_000_000, 3, into: &out)
        } else if nanoseconds % 1000 == 0 {
            digits(Int(nanoseconds) / 1000, 6, into: &out)
        } else {
            digits(Int(nanoseconds), 9, into: &out)
        }
        out.append(UInt8(ascii: "Z"))
        out.append(UInt8(ascii: "\""))
    }

    private static func digits(_ value: Int, _ count: Int, into out: inout ByteBuffer) {
        var unit = 1
        for _ in 1..<count { unit *= 10 }
        assert(value >= 0 && value / 10 < unit, "a number has more digits than its field")
        while unit > 0 {
            out.append(UInt8(truncatingIfNeeded: value / unit % 10) + 0x30)
            unit /= 10
        }
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((-(a + 1)) / b) - 1 }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func daysInMonth(_ year: Int, _ month: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the days from 1970 to a date of the Gregorian calendar. Years begin in March here, so that the leap day is at their end.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let day = shifted - era * 146_097
        let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        return (
            year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1
        )
    }

    private struct Reader {
        let text: UnsafeBufferPointer<UInt8>
        var at = 0

        var isAtEnd: Bool { at == text.count }

        mutating func take(_ mark: Unicode.Scalar) -> Bool {
            guard at < text.count, text[at] == UInt8(ascii: mark) else { return false }
            at += 1
            return true
        }

        mutating func digits(_ count: Int) -> Int? {
            guard at + count <= text.count else { return nil }
            var value = 0
            for _ in 0..<count {
                let digit = text[at] &- 0x30
                guard digit < 10 else { return nil }
                value = value * 10 + Int(digit)
                at += 1
            }
            return value
        }

        /// Reads a fraction of a second and returns nanoseconds. Digits after the ninth are ignored.
        mutating func fraction() -> Int? {
            var value = 0
            var count = 0
            while at < text.count, text[at] &- 0x30 < 10 {
                if count < 9 { value = value * 10 + Int(text[at] - 0x30) }
                count += 1
                at += 1
            }
            guard count > 0 else { return nil }
            for _ in min(count, 9)..<9 { value *= 10 }
            return value
        }

        /// Reads an offset and returns seconds east of UTC.
        mutating func offset() -> Int? {
            if isAtEnd || take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hour = digits(2), hour < 24 else { return nil }
            var minute = 0
            if !isAtEnd {
                _ = take(":")
                guard let digits = digits(2), digits < 60 else { return nil }
                minute = digits
            }
            return (isWest ? -1 : 1) * (hour * 3600 + minute * 60)
        }
    }
}
