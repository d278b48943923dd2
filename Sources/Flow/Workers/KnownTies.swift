// Remembers which ids the ledger has tied, so that an event that states such a tie again does not wait for its turn.

public import Admission
internal import Platform

/// A cache of pairs of ids that are tied in the ledger. A new pair may replace an older one.
public final class KnownTies: Sendable {
    private struct Pair {
        var one: SubjectKey
        var other: SubjectKey
        /// The number of untied ids when the pair was learned.
        var unties: Int
    }
    private static let most = 1 << 14
    private let pairs = Monitor<[Int: Pair]>([:])
    /// Returns the number of ids that have been untied so far.
    public let unties: @Sendable () -> Int

    public init(unties: @escaping @Sendable () -> Int) { self.unties = unties }

    public func knows(_ one: SubjectKey, _ other: SubjectKey) -> Bool {
        guard let pair = pairs.withLock({ $0[KnownTies.place(one, other)] }) else { return false }
        return pair.one == one && pair.other == other && pair.unties == unties()
    }

    public func learn(_ one: SubjectKey, _ other: SubjectKey) {
        let pair = Pair(one: one, other: other, unties: unties())
        pairs.withLock { $0[KnownTies.place(one, other)] = pair }
    }

    /// Returns the place of a pair in the cache. Two pairs may share a place, and the newer one replaces the older one.
    private static func place(_ one: SubjectKey, _ other: SubjectKey) -> Int {
        Int(truncatingIfNeeded: (one.high ^ other.low &* 0x9e37_79b9_7f4a_7c15) >> 3) & (most - 1)
    }
}
