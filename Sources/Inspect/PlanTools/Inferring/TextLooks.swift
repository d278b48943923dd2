// Tells by its form what a text is: a UUID, a point in time, an address for mail, or something that could identify a person or a thing. Pure:
// bytes in, an answer out.

internal import Events

enum TextLooks {
    /// Eight, four, four, four and twelve hexadecimal digits.
    static func isUUID(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count == 36 else { return false }
        for (place, byte) in text.enumerated() {
            let isDash = place == 8 || place == 13 || place == 18 || place == 23
            if isDash ? byte != UInt8(ascii: "-") : !isHexDigit(byte) { return false }
        }
        return true
    }

    /// A date and a time with a zone, after RFC 3339.
    static func isDateTime(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count >= 20, text.count <= 40 else { return false }
        return Array(text).withUnsafeBufferPointer { Times.parse($0) != nil && $0[10] | 0x20 == UInt8(ascii: "t") }
    }

    /// One @ between a local part and a name with a dot, all of plain letters.
    static func isEmail(_ text: ArraySlice<UInt8>) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[0].count <= 64 else { return false }
        let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy({ !$0.isEmpty }) else { return false }
        return parts[0].allSatisfy { isLetterOrDigit($0) || ".!#$%&'*+/=?^_`{|}~-".utf8.contains($0) }
            && parts[1].allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    static func isLetterOrDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 26 }
    private static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 6 }
}

enum IdentifierLooks {
    /// Returns true if a name of a member or of an event could be the id of a person or a thing, or cannot stand in a plan.
    static func isLikelyName(_ name: [UInt8]) -> Bool {
        name.isEmpty || name.count > InferenceLimits.longestName || name.contains { $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "@") }
            || longestDigits(name) > 4 || isLongHex(name)
    }

    /// Returns true for a short text of plain letters with few digits in a row, such as `free`, `de-CH` or `http/2`. Names of people have
    /// spaces and other letters, or stand under a name that `namesPerson` knows.
    static func isPlainWord(_ text: [UInt8]) -> Bool {
        text.count <= InferenceLimits.longestText && longestDigits(text) < 4 && !isLongHex(text)
            && text.allSatisfy { TextLooks.isLetterOrDigit($0) || "_-./:+".utf8.contains($0) }
    }

    /// The words that say that a member has an id, or is about one person.
    private static let words: Set<String> = [
        "id", "ids", "uid", "uuid", "guid", "key", "token", "secret", "password", "hash", "email", "mail", "phone", "mobile", "name",
        "surname", "nickname", "login", "user", "username", "customer", "person", "patient", "author", "session", "device", "ip", "mac",
        "address", "street", "city", "zip", "postcode", "birthday", "birthdate", "iban", "account", "serial", "imei", "idfa", "ssn",
        "handle", "firstname", "lastname", "userid", "anonymousid", "referrer", "url",
    ]

    /// Returns true if a member of this name may have a value that belongs to one person.
    static func namesPerson(_ name: String) -> Bool {
        var word = ""
        var found = false
        var wasLower = false
        func end() {
            if words.contains(word.lowercased()) { found = true }
            word = ""
        }
        for scalar in name.unicodeScalars {
            let isUpper = scalar.properties.isUppercase
            if !scalar.properties.isAlphabetic || isUpper && wasLower { end() }
            if scalar.properties.isAlphabetic { word.unicodeScalars.append(scalar) }
            wasLower = scalar.properties.isLowercase
        }
        end()
        return found
    }

    private static func longestDigits(_ text: [UInt8]) -> Int {
        var (longest, run) = (0, 0)
        for byte in text {
            run = TextLooks.isDigit(byte) ? run + 1 : 0
            longest = max(longest, run)
        }
        return longest
    }

    /// Returns true for sixteen and more hexadecimal digits with a digit among them, dashes aside.
    private static func isLongHex(_ text: [UInt8]) -> Bool {
        let digits = text.filter { $0 != UInt8(ascii: "-") }
        return digits.count >= 16 && digits.contains(where: TextLooks.isDigit)
            && digits.allSatisfy { TextLooks.isDigit($0) || ($0 | 0x20) &- 0x61 < 6 }
    }
}
