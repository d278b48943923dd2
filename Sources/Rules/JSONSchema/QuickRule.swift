// The part of a schema that most members of events need: a type, bounds of a number, and lengths of a string. A value that satisfies it needs no
// other look. Of any other value it says nothing, and the checker looks at the whole schema.

internal import CSIMD
internal import Events

struct QuickRule: BitwiseCopyable {
    /// One bit for each two bytes with which a value may begin. No two types share a bit. Lists and objects have none.
    private var beginnings: UInt64 = 0
    /// The fewest bytes with which a string has enough characters, however they are written, and the most bytes that a string may have.
    private var leastBytes = 0
    private var mostBytes = Int.max
    /// The fewest characters that a string may have.
    private var leastCharacters = 0
    private var isWhole = false
    private var hasBounds = false
    /// True if every number without a sign lies within the bounds.
    private var takesPositive = false
    private var bounds = ShortBounds()

    /// Nothing is decided at once.
    init() {}

    init(_ rule: SchemaRule) {
        guard rule.isSatisfiable, rule.values == nil, !rule.isCombined, !rule.tracksRest else { return }
        if rule.types.contains(.null) { add("n") }
        if rule.types.contains(.boolean) { add("tf") }
        if rule.types.contains(.string), rule.pattern < 0 {
            add("\"")
            // A character has at most twelve bytes: a surrogate pair of two escapes. A string that is not empty has a character.
            let (bytes, isTooMuch) = rule.minLength.multipliedReportingOverflow(by: 12)
            leastBytes = rule.minLength <= 1 ? rule.minLength : isTooMuch ? .max : bytes
            mostBytes = rule.maxLength
            leastCharacters = rule.minLength
        }
        if !rule.types.isDisjoint(with: [.number, .integer]), !rule.testsNumbers || rule.shortBounds != nil {
            add("-0123456789")
            isWhole = !rule.types.contains(.number)
            if rule.testsNumbers, let short = rule.shortBounds { (hasBounds, bounds) = (true, short) }
            takesPositive = bounds.least <= 0 && bounds.most == .infinity
        }
    }

    private mutating func add(_ bytes: StaticString) {
        for byte in bytes.description.utf8 { beginnings |= QuickRule.bit(byte) }
    }

    @inline(__always) private static func bit(_ byte: UInt8) -> UInt64 { 1 &<< UInt64(byte &>> 1) }

    /// Returns the place after the value, or nil if the schema has to decide.
    @inline(__always) static func end(_ rule: UnsafePointer<QuickRule>, _ p: Bytes) -> Bytes? {
        let byte = p[0]
        guard rule.pointee.beginnings & bit(byte) != 0 else { return nil }
        guard byte == UInt8(ascii: "\"") else { return wordEnd(rule, p) }
        // Most strings end within 32 bytes.
        let length = Int(truncatingIfNeeded: csimd_quotes(p + 1).trailingZeroBitCount)
        let isUsual = length < 32 && p[1 &+ length] == UInt8(ascii: "\"")
        let end = isUsual ? p + (length &+ 2) : longEnd(p)
        let count = end - p &- 2
        guard count <= rule.pointee.mostBytes else { return nil }
        if count >= rule.pointee.leastBytes { return end }
        // A short string without an escape, of ASCII only, has as many characters as bytes.
        return isUsual && count >= rule.pointee.leastCharacters && csimd_ascii(p + 1) >= count ? end : nil
    }

    /// Returns the place after a number, true, false or null, or nil if the schema has to decide.
    @inline(never) private static func wordEnd(_ rule: UnsafePointer<QuickRule>, _ p: Bytes) -> Bytes? {
        var word = csimd_read_word(p)
        var end = p + Int(word.count)
        var marks = word.is_marked
        while word.count == 16 {
            word = csimd_read_word(end)
            end += Int(word.count)
            marks |= word.is_marked
        }
        // A number with a point or an exponent can be whole. The schema decides.
        guard marks == 0 || !rule.pointee.isWhole else { return nil }
        guard rule.pointee.hasBounds, p[0] <= UInt8(ascii: "9") else { return end }
        if rule.pointee.takesPositive, p[0] != UInt8(ascii: "-") { return end }
        let number = ShortNumber.read(p)
        let bounds = rule.pointee.bounds
        // Rounding keeps the order. So a rounded number that lies between the bounds, and is none of them, does so before it is rounded.
        if number.value > bounds.least, number.value < bounds.most { return end }
        return number.isExact && number.value >= bounds.least && number.value <= bounds.most ? end : nil
    }

    @inline(never) private static func longEnd(_ start: Bytes) -> Bytes {
        var p = start + 1
        while true {
            let count = csimd_quotes(p).trailingZeroBitCount
            p += count
            if count == 32 { continue }
            if p[0] == UInt8(ascii: "\"") { return p + 1 }
            p += 2
        }
    }
}
