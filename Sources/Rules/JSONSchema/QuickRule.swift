// The part of a schema that most members of events need: a type, bounds of a number, and lengths of a string. A value that satisfies it needs no
// other look. Of any other value it says nothing, and the checker looks at the whole schema.

internal import CSIMD
internal import Events

struct QuickRule: BitwiseCopyable {
    /// One bit for each two bytes with which a value may begin. No two types share a bit. Lists and objects have none.
    private var beginnings: UInt64 = 0
    /// The beginnings of numbers, true, false and null that satisfy the schema whatever follows, except that a number may have to be whole.
    private var settled: UInt64 = 0
    /// The fewest bytes with which a string has enough characters, however they are written, and the most bytes that a string may have.
    private var leastBytes: UInt32 = 0
    private var mostBytes = UInt32.max
    /// The fewest characters that a string may have.
    private var leastCharacters: UInt32 = 0
    private var isWhole = false
    /// The texts of `enum`, one of which a string must be.
    private var choices: UnsafePointer<KeyTable>?
    private var bounds = ShortBounds()

    /// Nothing is decided at once.
    init() {}

    init(_ rule: SchemaRule, store: Store) {
        guard rule.isSatisfiable, !rule.isCombined, !rule.tracksRest else { return }
        if let values = rule.values {
            let texts = values.filter { $0.base[0] == UInt8(ascii: "\"") }
            guard rule.types.contains(.string), !rule.testsStrings, !texts.isEmpty else { return }
            let keys = texts.map { MemberRule(key: ByteRun(base: $0.base + 1, count: $0.count - 2), schema: 0) }
            choices = store.one(KeyTable(keys, store: store))
            beginnings = QuickRule.bits("\"")
            return
        }
        if rule.types.contains(.null) { settled |= QuickRule.bits("n") }
        if rule.types.contains(.boolean) { settled |= QuickRule.bits("tf") }
        if !rule.types.isDisjoint(with: [.number, .integer]), !rule.testsNumbers || rule.shortBounds != nil {
            beginnings = QuickRule.bits("-0123456789")
            isWhole = !rule.types.contains(.number)
            if rule.testsNumbers, let short = rule.shortBounds { bounds = short }
            if bounds.most == .infinity, bounds.least <= 0 { settled |= QuickRule.bits("0123456789") }
            if bounds.most == .infinity, bounds.least == -.infinity { settled |= QuickRule.bits("-") }
        }
        beginnings |= settled
        if rule.types.contains(.string), rule.pattern < 0 {
            beginnings |= QuickRule.bits("\"")
            // A character has at most twelve bytes: a surrogate pair of two escapes. A string that is not empty has a character.
            let (bytes, isTooMuch) = rule.minLength.multipliedReportingOverflow(by: 12)
            leastBytes = UInt32(clamping: rule.minLength <= 1 ? rule.minLength : isTooMuch ? .max : bytes)
            mostBytes = UInt32(clamping: rule.maxLength)
            leastCharacters = UInt32(clamping: rule.minLength)
        }
    }

    private static func bits(_ bytes: StaticString) -> UInt64 { bytes.description.utf8.reduce(0) { $0 | bit($1) } }

    @inline(__always) private static func bit(_ byte: UInt8) -> UInt64 { 1 &<< UInt64(byte &>> 1) }

    /// Returns the place after the value, or nil if the schema has to decide.
    @inline(__always) static func end(_ rule: UnsafePointer<QuickRule>, _ p: Bytes) -> Bytes? {
        let byte = p[0]
        let bit = bit(byte)
        guard rule.pointee.beginnings & bit != 0 else { return nil }
        guard byte == UInt8(ascii: "\"") else { return wordEnd(rule, p, bit) }
        if let choices = rule.pointee.choices { return choiceEnd(choices, p) }
        // Most strings end within 32 bytes.
        let length = Int(truncatingIfNeeded: csimd_quotes(p + 1).trailingZeroBitCount)
        let isUsual = length < 32 && p[1 &+ length] == UInt8(ascii: "\"")
        let end = isUsual ? p + (length &+ 2) : longEnd(p)
        let count = end - p &- 2
        guard count <= Int(rule.pointee.mostBytes) else { return nil }
        if count >= Int(rule.pointee.leastBytes) { return end }
        // A short string without an escape, of ASCII only, has as many characters as bytes.
        return isUsual && count >= Int(rule.pointee.leastCharacters) && csimd_ascii(p + 1) >= count ? end : nil
    }

    /// Returns true if the value of `length` bytes satisfies the schema, and false if the schema has to decide.
    @inline(__always) static func holds(_ rule: UnsafePointer<QuickRule>, _ p: Bytes, _ length: Int) -> Bool {
        let byte = p[0]
        let bit = bit(byte)
        guard rule.pointee.beginnings & bit != 0 else { return false }
        guard byte == UInt8(ascii: "\"") else {
            guard rule.pointee.settled & bit != 0 else { return boundedEnd(rule, p) != nil }
            // A number with a point or an exponent can be whole. The schema decides.
            return !rule.pointee.isWhole || (length < 16 ? csimd_read_word(p).is_marked == 0 : longWordEnd(rule, p) != nil)
        }
        if let choices = rule.pointee.choices { return choiceEnd(choices, p) != nil }
        let count = length &- 2
        guard count <= Int(rule.pointee.mostBytes) else { return false }
        if count >= Int(rule.pointee.leastBytes) { return true }
        // A short string without an escape, of ASCII only, has as many characters as bytes.
        return count < 32 && count >= Int(rule.pointee.leastCharacters) && csimd_quotes(p + 1).trailingZeroBitCount == count
            && csimd_ascii(p + 1) >= count
    }

    /// Returns the place after a string that is one of the texts as it is written, or nil if the schema has to decide.
    @inline(never) private static func choiceEnd(_ choices: UnsafePointer<KeyTable>, _ p: Bytes) -> Bytes? {
        let text = csimd_read_key(p + 1)
        guard let entry = choices.pointee.find(text), entry.pointee.bit != 0 else { return nil }
        return p + (Int(text.count) &+ 2)
    }

    /// Returns the place after a number, true, false or null, or nil if the schema has to decide.
    @inline(__always) private static func wordEnd(_ rule: UnsafePointer<QuickRule>, _ p: Bytes, _ bit: UInt64) -> Bytes? {
        guard rule.pointee.settled & bit != 0 else { return boundedEnd(rule, p) }
        let word = csimd_read_word(p)
        guard word.count < 16 else { return longWordEnd(rule, p) }
        // A number with a point or an exponent can be whole. The schema decides.
        return rule.pointee.isWhole && word.is_marked != 0 ? nil : p + Int(word.count)
    }

    @inline(never) private static func longWordEnd(_ rule: UnsafePointer<QuickRule>, _ p: Bytes) -> Bytes? {
        var word = csimd_read_word(p)
        var end = p + Int(word.count)
        var marks = word.is_marked
        while word.count == 16 {
            word = csimd_read_word(end)
            end += Int(word.count)
            marks |= word.is_marked
        }
        return rule.pointee.isWhole && marks != 0 ? nil : end
    }

    @inline(never) private static func boundedEnd(_ rule: UnsafePointer<QuickRule>, _ p: Bytes) -> Bytes? {
        guard let end = longWordEnd(rule, p) else { return nil }
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
