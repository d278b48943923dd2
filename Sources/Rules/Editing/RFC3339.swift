// Reads dates and times as in RFC 3339, without escapes.

internal import Events

enum RFC3339 {
    /// Returns true if the text begins with a date that exists.
    static func isDate(_ text: ByteRun) -> Bool {
        guard text.count >= 10, has(text, "0000-00-00", at: 0) else { return false }
        let month = number(text, start: 5, count: 2)
        let day = number(text, start: 8, count: 2)
        return (1...12).contains(month) && (1...days(month, of: number(text, start: 0, count: 4))).contains(day)
    }

    /// Returns the index at which the offset of a complete time begins. Returns nil if the text is not a complete time.
    static func zone(_ text: ByteRun) -> Int? {
        guard isDate(text), text.count >= 20, [UInt8(ascii: "T"), UInt8(ascii: "t"), 0x20].contains(text.base[10]),
            has(text, "00:00:00", at: 11), number(text, start: 11, count: 2) < 24, number(text, start: 14, count: 2) < 60,
            number(text, start: 17, count: 2) <= 60
        else { return nil }
        var at = 19
        if text.base[at] == UInt8(ascii: ".") {
            at += 1
            let first = at
            while at < text.count, text.base[at] &- 0x30 < 10 { at += 1 }
            guard at > first else { return nil }
        }
        if at + 1 == text.count, text.base[at] | 0x20 == UInt8(ascii: "z") { return at }
        guard at + 6 == text.count, text.base[at] == UInt8(ascii: "+") || text.base[at] == UInt8(ascii: "-"),
            has(text, "00:00", at: at + 1), number(text, start: at + 1, count: 2) < 24, number(text, start: at + 4, count: 2) < 60
        else { return nil }
        return at
    }

    /// Returns the seconds since 1970 of a time or a date. Returns nil if the text is neither.
    static func seconds(_ text: ByteRun) -> Int64? {
        guard isDate(text) else { return nil }
        let day =
            daysSince1970(number(text, start: 0, count: 4), number(text, start: 5, count: 2), number(text, start: 8, count: 2)) * 86_400
        if text.count == 10 { return Int64(day) }
        guard let zone = zone(text) else { return nil }
        var offset = 0
        if text.base[zone] == UInt8(ascii: "+") || text.base[zone] == UInt8(ascii: "-") {
            offset = number(text, start: zone + 1, count: 2) * 3600 + number(text, start: zone + 4, count: 2) * 60
            if text.base[zone] == UInt8(ascii: "-") { offset = -offset }
        }
        return Int64(
            day + number(text, start: 11, count: 2) * 3600 + number(text, start: 14, count: 2) * 60 + number(text, start: 17, count: 2)
                - offset)
    }

    /// Returns true if the text matches the shape at `start`. A 0 in the shape matches any digit.
    private static func has(_ text: ByteRun, _ shape: StaticString, at start: Int) -> Bool {
        guard start + shape.utf8CodeUnitCount <= text.count else { return false }
        for index in 0..<shape.utf8CodeUnitCount {
            let (byte, wanted) = (text.base[start + index], shape.utf8Start[index])
            guard wanted == UInt8(ascii: "0") ? byte &- 0x30 < 10 : byte == wanted else { return false }
        }
        return true
    }

    private static func number(_ text: ByteRun, start: Int, count: Int) -> Int {
        (start..<(start + count)).reduce(0) { $0 * 10 + Int(text.base[$1] &- 0x30) }
    }

    private static func days(_ month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // A year begins in March here, so that the leap day is its last day.
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
