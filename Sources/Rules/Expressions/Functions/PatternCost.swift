// What a search for a regular expression costs, in steps of an evaluation. RE2 usually reads a text with a table that it makes on the way,
// at about 2 ns a byte. If the table grows too large, it simulates the program: each byte then costs up to one operation for each
// instruction. Nobody can tell in advance which of the two happens, so a search is always charged the second.

extension CompiledPattern {
    /// The operations of the simulation, bytes times instructions, that count as one step.
    public static let operationsOfStep = 256
    /// The steps for compiling a pattern that is not a constant, besides one for each of its bytes and instructions.
    static let stepsToCompile = 1000
    /// The steps for a pattern that cannot be compiled. One that is too large takes the longest: about 8 ms.
    static let stepsOfFailure = 10_000

    /// Returns the steps for reading so many bytes once.
    public func steps(toRead bytes: Int) -> Int {
        assert(bytes >= 0, "a search reads backwards")
        return max(bytes >> 4, bytes * instructions / CompiledPattern.operationsOfStep)
    }

    /// Returns the steps for the text of a mask, whatever is found in it.
    public func steps(toMask bytes: Int) -> Int { reach.isFar ? 0 : steps(toRead: bytes * (1 + reach.repetitions)) }

    /// Returns the steps for one more search in a text of which `rest` bytes are left, whatever is found in them.
    public func steps(toSearch rest: Int) -> Int { steps(toRead: reach.isFar ? rest : min(rest, instructions)) }

    /// Returns the steps for a match. Its end is `bytes` behind the place where the search began. They are read again to find the
    /// beginning of the match and its groups.
    public func steps(toMatch bytes: Int) -> Int { steps(toRead: 2 * bytes) }
}

/// How far a search can read beyond the match that it returns. That matters when a text has many matches: if each search could read up to
/// the end, the work would grow with the square of the text.
struct PatternReach: Equatable {
    /// The number of repetitions without an upper bound: `*`, `+`, `{2,}`.
    private(set) var repetitions = 0
    /// True if each search may read up to the end of the text, as for `x(.*y)?`. If it is false, all searches in a text together read each
    /// byte at most once for each repetition, and besides each search reads at most one byte for each instruction beyond its match. This is
    /// so because a part that must follow a repetition can be found only once in what the repetition covers.
    private(set) var isFar = false

    init(_ pattern: [UInt8]) {
        var hasChoice = false
        var i = 0
        var previous = UInt8(ascii: "(")
        while i < pattern.count {
            let byte = pattern[i]
            switch byte {
            case UInt8(ascii: "\\"):
                // Quoted text is not looked into.
                if i + 1 < pattern.count, pattern[i + 1] == UInt8(ascii: "Q") { hasChoice = true }
                i += 1
            case UInt8(ascii: "["): i = PatternReach.endOfClass(pattern, from: i)
            case UInt8(ascii: "|"): hasChoice = true
            case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "{"), UInt8(ascii: "?"):
                if previous == UInt8(ascii: ")") { hasChoice = true }
                if byte != UInt8(ascii: "?"), byte != UInt8(ascii: "{") || PatternReach.isOpenBound(pattern, at: i) { repetitions += 1 }
            default: break
            }
            previous = byte
            i += 1
        }
        isFar = hasChoice && repetitions > 0
    }

    /// Returns the place of the `]` that ends the class. A `]` at its beginning, in an escape or in a name such as `[:alpha:]` does not.
    private static func endOfClass(_ pattern: [UInt8], from start: Int) -> Int {
        var i = start + 1
        if i < pattern.count, pattern[i] == UInt8(ascii: "^") { i += 1 }
        if i < pattern.count, pattern[i] == UInt8(ascii: "]") { i += 1 }
        while i < pattern.count, pattern[i] != UInt8(ascii: "]") {
            if pattern[i] == UInt8(ascii: "\\") {
                i += 1
            } else if pattern[i] == UInt8(ascii: "["), i + 1 < pattern.count, pattern[i + 1] == UInt8(ascii: ":") {
                while i < pattern.count, pattern[i] != UInt8(ascii: "]") { i += 1 }
            }
            i += 1
        }
        return i
    }

    /// True if `{` begins a repetition without an upper bound, such as `{2,}`.
    private static func isOpenBound(_ pattern: [UInt8], at start: Int) -> Bool {
        let rest = pattern[(start + 1)...].prefix { $0 != UInt8(ascii: "}") }
        return rest.last == UInt8(ascii: ",")
    }
}
