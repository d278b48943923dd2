// Makes text safe for output: for a terminal, which control characters could manipulate, and for JSON.

internal import Encoding

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
public func jsonQuoted(_ text: String) -> String { JSONString.quoted(text, as: .visible) }

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
    var text: [UInt8] = []
    TimeText.write(nanoseconds, to: .milliseconds) { text.append($0) }
    return String(decoding: text, as: UTF8.self)
}

/// Returns the bytes in base64 with padding.
public func base64(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    Array(bytes).withUnsafeBufferPointer { Base64.encode($0) { text.append($0) } }
    assert(text.count == (bytes.count + 2) / 3 * 4, "the padding of base64 is missing")
    return String(decoding: text, as: UTF8.self)
}
