// Detects an international bank account number (ISO 13616): a country, two check digits, and as many letters and digits as that country
// uses. Its remainder modulo 97 is 1. Single spaces or hyphens can separate the characters after the check digits, and so can a plus, which
// represents a space in a URL.

enum IBAN {
    static func end(_ text: Subject, _ start: Int) -> Int? {
        guard Byte.isLetter(text[start + 1]), text.isDigit(start + 2), text.isDigit(start + 3) else { return nil }
        let length = length(UInt16(text[start] & 0xdf) << 8 | UInt16(text[start + 1] & 0xdf))
        guard length > 0 else { return nil }
        var remainder = 0
        var i = start + 4
        for _ in 4..<length {
            if text[i] == UInt8(ascii: " ") || text[i] == UInt8(ascii: "-") || text[i] == UInt8(ascii: "+") { i += 1 }
            guard text.isAlphanumeric(i) else { return nil }
            remainder = fold(remainder, text[i])
            i += 1
        }
        for n in 0..<4 { remainder = fold(remainder, text[start + n]) }
        return remainder == 1 && !text.isAlphanumeric(i) ? i : nil
    }

    /// Returns the remainder after one more character. A letter counts as two digits, beginning with 10 for A.
    private static func fold(_ remainder: Int, _ c: UInt8) -> Int {
        Byte.isDigit(c) ? (remainder * 10 + Int(c - 0x30)) % 97 : (remainder * 100 + Int((c & 0xdf) - 0x41) + 10) % 97
    }

    /// Returns the length of the country's numbers. It is 0 if the country has none.
    private static func length(_ country: UInt16) -> Int {
        var i = 0
        while i < countries.utf8CodeUnitCount {
            let entry = countries.utf8Start + i
            if UInt16(entry[0]) << 8 | UInt16(entry[1]) == country { return Int(entry[2] - 0x30) * 10 + Int(entry[3] - 0x30) }
            i += 4
        }
        return 0
    }

    /// The lengths of the registry: two letters and two digits for each country.
    private static var countries: StaticString {
        """
        AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22\
        GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31\
        MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24\
        XK20YE30
        """
    }
}
