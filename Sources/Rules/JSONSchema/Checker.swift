// Checks one JSON value against a compiled schema, where it lies. The scanner has proved that the value is valid JSON. The checker walks through
// the value once, and again only for keywords that combine schemas. It builds nothing for a value without `unevaluatedProperties`,
// `unevaluatedItems` and escapes. Its steps and its depth are bounded: beyond them the value counts as violating. It never changes the value.

public import Events
internal import Expressions

/// Checks values. One for each thread, since it counts the steps of the present value.
public struct SchemaChecker: ~Copyable {
    /// The steps that the check of one value may take. A member, an item and a subschema take one each, unless a `QuickRule` decides; a
    /// comparison or a search takes more with the length of its text.
    public static let mostSteps = 500_000
    /// The most levels of objects, lists and references.
    static let deepest = 256

    let schema: JSONSchema
    let rules: UnsafePointer<SchemaRule>
    let quick: UnsafePointer<QuickRule>
    /// True if the schema has dynamic references.
    let isDynamic: Bool
    var stepsLeft = 0
    var depth = 0
    /// The first violation in the value that was checked last, if that value does not satisfy its schema.
    public internal(set) var violation: Violation?
    /// The schema resources that the check has entered, from the outermost one. It is used only if the schema has dynamic references.
    var scope: [Int] = []
    /// The keys that the schemas of the objects around the present value do not name.
    var otherKeys: [ByteRun] = []
    /// The schemas of the listed members that are checked at present.
    let found = UnsafeMutablePointer<Int32>.allocate(capacity: ListedMembers.most)

    public init(_ schema: JSONSchema) {
        self.schema = schema
        rules = schema.rules.baseAddress!
        quick = schema.quick.baseAddress!
        isDynamic = schema.hasDynamicNames
    }

    deinit { found.deallocate() }

    /// Returns the first violation in the value that begins at `value`, or nil if it satisfies the schema. `root` is an index that
    /// `JSONSchema.root` gave.
    public mutating func check(_ value: Bytes, root: Int) -> Violation? { satisfies(value, root: root) ? nil : violation }

    /// Returns true if the value that begins at `value` satisfies the schema. Otherwise `violation` says why it does not.
    public mutating func satisfies(_ value: Bytes, root: Int) -> Bool {
        begin()
        if visit(root, value, nil) != nil { return true }
        assert(violation != nil, "a value is refused without a reason")
        return false
    }

    /// Returns the same for an object whose members the scanner listed. It need not look for the ends of keys and of most values.
    public mutating func satisfies(_ value: Bytes, root: Int, _ list: ListedMembers, in block: Bytes) -> Bool {
        let rule = rules + root
        // `isPlain` is false for most schemas with other keywords. The rest of them are tested here.
        guard rule.pointee.isPlain, rule.pointee.types.contains(.object), rule.pointee.values == nil, !rule.pointee.tracksRest, !isDynamic
        else { return satisfies(value, root: root) }
        begin()
        guard take(1, value) else { return false }
        depth = 1
        let isSatisfied = checkListed(rule, value, list, in: block)
        depth = 0
        if isSatisfied, !rule.pointee.isCombined || combine(rule, value, nil) { return true }
        assert(violation != nil, "a value is refused without a reason")
        return false
    }

    @inline(__always) private mutating func begin() {
        stepsLeft = SchemaChecker.mostSteps
        depth = 0
        violation = nil
        if !scope.isEmpty { scope.removeAll(keepingCapacity: true) }
        if !otherKeys.isEmpty { otherKeys.removeAll(keepingCapacity: true) }
    }

    /// Notes the violation, unless one was noted before. Returns nil.
    @inline(never) mutating func fail(_ keyword: Keyword, _ value: Bytes, missing: ByteRun? = nil) -> Bytes? {
        if violation == nil { violation = Violation(keyword: keyword, value: value, missing: missing) }
        return nil
    }

    /// Takes steps. Returns false and fails if too few are left.
    @inline(__always) mutating func take(_ steps: Int, _ value: Bytes) -> Bool {
        stepsLeft &-= steps
        if stepsLeft >= 0 { return true }
        return fail(.steps, value) != nil
    }

    /// True if the check cannot go on, so that no other branch may be tried.
    var isExhausted: Bool { stepsLeft < 0 || violation?.keyword == .depth }

    /// Checks the value that begins at `p`. Returns the place after it, or nil if it violates the schema. `seen` gets the members or items
    /// that a keyword looked at.
    mutating func visit(_ index: Int, _ p: Bytes, _ seen: Seen?) -> Bytes? {
        let rule = rules + index
        guard take(1, p) else { return nil }
        if rule.pointee.tracksRest || isDynamic { return visitSlowly(rule, p, seen) }
        let end = visitValue(rule, p, seen)
        guard let end, rule.pointee.isCombined else { return end }
        return combine(rule, p, seen) ? end : nil
    }

    @inline(__always) mutating func visitValue(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ seen: Seen?) -> Bytes? {
        guard rule.pointee.isSatisfiable else { return fail(.false, p) }
        let types = rule.pointee.types
        let end: Bytes?
        switch p[0] {
        case UInt8(ascii: "\""):
            guard types.contains(.string) else { return fail(.type, p) }
            end = stringEnd(p)
            if rule.pointee.testsStrings, !checkString(rule, p, end!) { return nil }
        case UInt8(ascii: "{"):
            guard types.contains(.object) else { return fail(.type, p) }
            if rule.pointee.testsObjects {
                guard depth < SchemaChecker.deepest else { return fail(.depth, p) }
                depth += 1
                end = checkObject(rule, p, seen)
                depth -= 1
            } else {
                end = valueEnd(p)
            }
        case UInt8(ascii: "["):
            guard types.contains(.array) else { return fail(.type, p) }
            if rule.pointee.testsArrays {
                guard depth < SchemaChecker.deepest else { return fail(.depth, p) }
                depth += 1
                end = checkList(rule, p, seen)
                depth -= 1
            } else {
                end = valueEnd(p)
            }
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            guard types.contains(.boolean) else { return fail(.type, p) }
            end = p + (p[0] == UInt8(ascii: "t") ? 4 : 5)
        case UInt8(ascii: "n"):
            guard types.contains(.null) else { return fail(.type, p) }
            end = p + 4
        default:
            let number = ShortNumber.read(p)
            end = number.end
            if !types.contains(.number) {
                let isInteger = types.contains(.integer) && (number.isWhole || DecimalText(p, number.end).isInteger)
                guard isInteger else { return fail(.type, p) }
            }
            if rule.pointee.testsNumbers, !checkNumber(rule, p, number) { return nil }
        }
        guard let end, let values = rule.pointee.values else { return end }
        guard take(values.count, p) else { return nil }
        if isOne(p, end, of: values) { return end }
        return fail(rule.pointee.isConstant ? .const : .enum, p)
    }

    /// Returns true if the value from `p` to `end` equals one of the values.
    private mutating func isOne(_ p: Bytes, _ end: Bytes, of values: UnsafeBufferPointer<ByteRun>) -> Bool {
        if p[0] == UInt8(ascii: "\"") {
            // Strings that are written in the same way are equal.
            let text = ByteRun(base: p, count: end - p)
            for value in values where value == text { return true }
        }
        for value in values where equals(p, value.base) { return true }
        return false
    }

    @inline(__always) private mutating func checkNumber(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ number: ShortNumber) -> Bool {
        guard let bounds = rule.pointee.shortBounds else { return checkLongNumber(rule, p, number.end) }
        // Rounding keeps the order. So a rounded number that lies between the bounds, and is none of them, does so before it is rounded.
        if number.value > bounds.least, number.value < bounds.most { return true }
        guard number.isExact else { return checkLongNumber(rule, p, number.end) }
        if number.value < bounds.least { return fail(.minimum, p) != nil }
        if number.value > bounds.most { return fail(.maximum, p) != nil }
        return true
    }

    @inline(never) private mutating func checkLongNumber(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ end: Bytes) -> Bool {
        guard take((end - p) >> 4, p) else { return false }
        let number = DecimalText(p, end)
        if let least = rule.pointee.minimum, number.compared(to: least.pointee) < 0 { return fail(.minimum, p) != nil }
        if let most = rule.pointee.maximum, number.compared(to: most.pointee) > 0 { return fail(.maximum, p) != nil }
        if let least = rule.pointee.exclusiveMinimum, number.compared(to: least.pointee) <= 0 { return fail(.exclusiveMinimum, p) != nil }
        if let most = rule.pointee.exclusiveMaximum, number.compared(to: most.pointee) >= 0 { return fail(.exclusiveMaximum, p) != nil }
        if let divisor = rule.pointee.multipleOf, !divisor.pointee.divides(number) { return fail(.multipleOf, p) != nil }
        return true
    }

    private mutating func checkString(_ rule: UnsafePointer<SchemaRule>, _ p: Bytes, _ end: Bytes) -> Bool {
        guard take((end - p) >> 4, p) else { return false }
        if rule.pointee.minLength > 0 || rule.pointee.maxLength < .max {
            // A character has at least one byte, and at most twelve: a surrogate pair of two escapes.
            let bytes = end - p - 2
            if bytes > rule.pointee.maxLength || bytes / 12 < rule.pointee.minLength {
                let length = SchemaChecker.characters(p + 1, end - 1)
                if length < rule.pointee.minLength { return fail(.minLength, p) != nil }
                if length > rule.pointee.maxLength { return fail(.maxLength, p) != nil }
            }
        }
        if rule.pointee.pattern >= 0, !matches(rule.pointee.pattern, p, end) { return fail(.pattern, p) != nil }
        return true
    }

    /// Returns the number of characters of a string's body. An escape is one character, and so is a surrogate pair of two escapes.
    private static func characters(_ start: Bytes, _ end: Bytes) -> Int {
        var p = start
        var count = 0
        while p < end {
            guard p[0] == UInt8(ascii: "\\") else {
                if p[0] & 0xc0 != 0x80 { count += 1 }
                p += 1
                continue
            }
            guard p[1] == UInt8(ascii: "u") else {
                count += 1
                p += 2
                continue
            }
            let isHigh = p[2] | 0x20 == UInt8(ascii: "d") && "89abAB".utf8.contains(p[3])
            let isPair =
                isHigh && end - p >= 12 && p[6] == UInt8(ascii: "\\") && p[7] == UInt8(ascii: "u") && p[8] | 0x20 == UInt8(ascii: "d")
                && "cdefCDEF".utf8.contains(p[9])
            count += 1
            p += isPair ? 12 : 6
        }
        return count
    }

    /// Returns true if the pattern is found in the string with these quotes. A string with a lone surrogate is not text, so nothing is found.
    mutating func matches(_ pattern: Int, _ p: Bytes, _ end: Bytes) -> Bool {
        let pattern = schema.patterns[pattern]
        let body = UnsafeBufferPointer(start: p + 1, count: end - p - 2)
        guard take(pattern.steps(toRead: body.count), p) else { return false }
        return Text.withText(body) { text in
            guard let text else { return false }
            return withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { spans in
                pattern.find(text.baseAddress ?? p, length: text.count, from: 0, spans: spans.baseAddress!, count: 1)
            }
        }
    }
}
