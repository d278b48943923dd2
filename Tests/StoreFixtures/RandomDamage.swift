// Damages files at random, by seed.

public import Foundation

/// Makes random damage, which depends only on the seed.
public struct RandomDamage {
    private var state: UInt64
    public init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    public mutating func chance(_ most: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 11) % max(1, most)
    }

    /// Damages the contents of a file: flips bits, zeroes a range, cuts the end, appends bytes or swaps two pages. Returns a description.
    public mutating func damage(_ data: inout Data, page: Int) -> String {
        guard !data.isEmpty else { return "nothing" }
        let at = chance(data.count)
        switch chance(5) {
        case 0:
            for _ in 0...chance(3) { data[chance(data.count)] ^= 1 << UInt8(chance(8)) }
            return "flip"
        case 1:
            let end = min(data.count, at + 1 + chance(3 * page))
            data.replaceSubrange(at..<end, with: Data(count: end - at))
            return "zero \(at)..<\(end)"
        case 2:
            data = data.prefix(at)
            return "cut to \(at)"
        case 3:
            data.append(Data((0..<(1 + chance(2 * page))).map { _ in UInt8(chance(256)) }))
            return "append"
        default:
            let pages = data.count / page
            guard pages > 1 else { return "nothing" }
            let (one, other) = (chance(pages) * page, chance(pages) * page)
            let held = Data(data[one..<one + page])
            data.replaceSubrange(one..<one + page, with: Data(data[other..<other + page]))
            data.replaceSubrange(other..<other + page, with: held)
            return "swap \(one / page) and \(other / page)"
        }
    }
    /// Damages the main file, the log or both, and returns a description.
    public mutating func damage(_ folder: Folder, main: String, log: String, page: Int) throws -> String {
        var done = ""
        for name in [[main], [log], [main, log]][chance(3)] {
            var data = folder.bytes(name)
            done += "\(name): \(damage(&data, page: page)); "
            try folder.write(data, name)
        }
        return done
    }
}

/// What a store gives out and reports after its files were damaged. The events of a store are all different.
public struct DamageOutcome: CustomStringConvertible {
    private let missing: Int
    /// The number of events that were removed before the damage and come again.
    public let again: Int
    private let removed: Int
    private let lost: Int
    private let words: String

    /// `waiting` has the events that waited before the damage, and `removed` is the number of those that were removed before. `lost` and
    /// `words` are what the store reports.
    public init(waiting: some Collection<String>, removed: Int, found: [String], lost: Int, words: String) {
        missing = Set(waiting).subtracting(found).count
        again = found.count - (waiting.count - missing)
        self.removed = removed
        self.lost = lost
        self.words = words
    }

    /// True if the reported number covers every loss. Events that come again may hide as many losses, if the report says "at least". The
    /// removed events may be reported as lost too.
    public var isLossReported: Bool {
        lost >= missing - (words.contains("at least ") ? again : 0) && lost <= missing + removed
    }

    public var description: String { "\(missing) are missing, \(again) come again, \(lost) are told: \(words)" }
}
