// Parses times in the forms of client libraries (RFC 3339 and the looser ISO 8601 of their languages), and writes times in the router's
// form. Times are nanoseconds since 1970 and range from the year 1678 to 2262.

internal import Encoding

public enum Times {
    public static let second: Int64 = 1_000_000_000

    /// Returns the time of a text, or nil if it is invalid or out of range. A time without an offset is UTC.
    public static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = Reader(text: text)
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"), let day = reader.digits(2),
            (1...12).contains(month), day >= 1, day <= CivilDate.days(inMonth: month, of: year)
        else { return nil }
        var seconds = CivilDate(year: year, month: month, day: day).daysSince1970 * 86400
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
        out.append(UInt8(ascii: "\""))
        TimeText.write(time, to: .exact) { out.append($0) }
        out.append(UInt8(ascii: "\""))
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
