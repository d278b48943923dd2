// Makes text safe for output: for a terminal, which control characters could manipulate, and for JSON.

/// Returns the text with control characters as escapes. Ill-formed UTF-8 becomes U+FFFD.
public func printable(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for scalar in String(decoding: Array(bytes), as: UTF8.self).unicodeScalars {
        switch scalar.value {
        case 0x09: text += "\\t"
        case 0x0a: text += "\\n"
        case 0x0d: text += "\\r"
        // These are C0 and C1 controls, and the marks that change the direction of writing.
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069:
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
        default: text.unicodeScalars.append(scalar)
        }
    }
    return text
}

public func printable(_ text: String) -> String { printable(text.utf8) }

/// Returns the text as a JSON string with quotes.
public func jsonQuoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case "\n": quoted += "\\n"
        case "\r": quoted += "\\r"
        case "\t": quoted += "\\t"
        case _ where scalar.value < 0x20 || scalar.value == 0x7f:
            let digits = String(scalar.value, radix: 16)
            quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

/// Returns the text as one word of a shell command line, so that it can be copied from a message.
public func shellWord(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
        byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a || "_-./:@%+=,".utf8.contains(byte)
    }
    if isPlain, !text.isEmpty { return text }
    return "'" + printable(text).split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
}

/// Returns a number with a comma after each group of thousands: 12,345.
public func grouped(_ number: Int) -> String {
    var digits = Array(String(number.magnitude).utf8)
    var at = digits.count - 3
    while at > 0 {
        digits.insert(UInt8(ascii: ","), at: at)
        at -= 3
    }
    return (number < 0 ? "-" : "") + String(decoding: digits, as: UTF8.self)
}

/// Returns a time in nanoseconds since 1970 in the form `2026-11-21T10:30:00.123Z`.
public func timestamp(_ nanoseconds: Int64) -> String {
    let (second, fraction) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let seconds = fraction < 0 ? second - 1 : second
    let milliseconds = (nanoseconds - seconds * 1_000_000_000) / 1_000_000
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let inDay = seconds - day * 86_400
    assert((0..<86_400).contains(inDay) && (0..<1000).contains(milliseconds), "a time is outside its day or its second")
    // This converts days to a date in the proleptic Gregorian calendar, in eras of 400 years that begin in March.
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let calendarMonth = month < 10 ? month + 3 : month - 9
    assert((1...12).contains(calendarMonth), "a year has no such month")
    let year = yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0)
    func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    let date = "\(padded(year, 4))-\(padded(calendarMonth, 2))-\(padded(dayOfYear - (153 * month + 2) / 5 + 1, 2))"
    let time = "\(padded(inDay / 3600, 2)):\(padded(inDay / 60 % 60, 2)):\(padded(inDay % 60, 2)).\(padded(milliseconds, 3))"
    return "\(date)T\(time)Z"
}

/// Returns the bytes in base64 with padding.
public func base64(_ bytes: some Collection<UInt8>) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let three = Array(rest.prefix(3))
        rest = rest.dropFirst(3)
        let word = three.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - three.count))
        for place in 0..<4 {
            text.append(place <= three.count ? alphabet[Int(word >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
        }
    }
    assert(text.count == (bytes.count + 2) / 3 * 4, "the padding of base64 is missing")
    return String(decoding: text, as: UTF8.self)
}
