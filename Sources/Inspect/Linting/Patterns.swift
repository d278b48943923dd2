// What can be said of globs without a name: whether one matches all that another matches, and a name that two of them match.

internal import Plans

/// A glob as its literal bytes, with `nil` for each run of stars.
struct Pattern {
    let symbols: [UInt8?]

    init(_ glob: Glob) {
        var symbols: [UInt8?] = []
        for byte in glob.pattern.utf8 {
            if byte != UInt8(ascii: "*") {
                symbols.append(byte)
            } else if symbols.isEmpty || symbols[symbols.count - 1] != nil {
                symbols.append(nil)
            }
        }
        self.symbols = symbols
    }

    /// Returns true if this glob matches every name that the other one matches.
    func covers(_ other: Pattern) -> Bool {
        if symbols.count == 1, symbols[0] == nil { return true }
        // Only a star of this glob can match a star of the other, which stands for any text.
        var reach = [Bool](repeating: false, count: other.symbols.count + 1)
        reach[0] = true
        for symbol in symbols {
            var next = [Bool](repeating: false, count: reach.count)
            if let byte = symbol {
                for at in other.symbols.indices where reach[at] && other.symbols[at] == byte { next[at + 1] = true }
            } else {
                var isOpen = false
                for at in reach.indices {
                    isOpen = isOpen || reach[at]
                    next[at] = isOpen
                }
            }
            reach = next
        }
        return reach[other.symbols.count]
    }

    /// Returns a name that both globs match, the shortest one. Returns nil if there is none, or if the globs are very long.
    func common(_ other: Pattern) -> [UInt8]? {
        // A glob without a star is the only name that it matches.
        if !symbols.contains(nil) { return other.covers(self) ? symbols.compactMap { $0 } : nil }
        if !other.symbols.contains(nil) { return covers(other) ? other.symbols.compactMap { $0 } : nil }
        let (a, b) = (symbols, other.symbols)
        for (mine, theirs) in zip(a, b) {
            guard let mine, let theirs else { break }
            if mine != theirs { return nil }
        }
        if a.count * b.count > 40_000 { return nil }
        // best[i][j] is the shortest name that both rests match.
        var best = [[[UInt8]?]](repeating: [[UInt8]?](repeating: nil, count: b.count + 1), count: a.count + 1)
        for i in stride(from: a.count, through: 0, by: -1) {
            for j in stride(from: b.count, through: 0, by: -1) {
                if i == a.count, j == b.count {
                    best[i][j] = []
                    continue
                }
                var found: [[UInt8]] = []
                if i < a.count, a[i] == nil, let rest = best[i + 1][j] { found.append(rest) }
                if j < b.count, b[j] == nil, let rest = best[i][j + 1] { found.append(rest) }
                if i < a.count, let byte = a[i], j < b.count {
                    if b[j] == nil, let rest = best[i + 1][j] { found.append([byte] + rest) }
                    if b[j] == byte, let rest = best[i + 1][j + 1] { found.append([byte] + rest) }
                }
                if j < b.count, let byte = b[j], i < a.count, a[i] == nil, let rest = best[i][j + 1] { found.append([byte] + rest) }
                best[i][j] = found.min { $0.count < $1.count }
            }
        }
        return best[0][0]
    }

    func matches(_ name: [UInt8]) -> Bool { covers(Pattern(Glob(literal: name))) }
}

extension Glob {
    /// A name as a glob. A star in it would match more, which is on the safe side nowhere, so callers have none.
    fileprivate init(literal name: [UInt8]) { self.init(String(decoding: name, as: UTF8.self)) }
}
