// Remembers which ids the ledger has tied, so that an event that says it again need not wait for its turn.

public import Admission
internal import Platform

/// Pairs of ids that are tied in the ledger, of which an event need not tell it again. Some that were here once are not any more.
public final class KnownTies: Sendable {
    private struct Pair {
        var one: SubjectKey
        var other: SubjectKey
        /// What was set apart by then.
        var unties: Int
    }
    private static let most = 1 << 14
    private let pairs = Monitor<[Int: Pair]>([:])
    /// How many ids have been set apart.
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

    /// A pair takes the place of another one.
    private static func place(_ one: SubjectKey, _ other: SubjectKey) -> Int {
        Int(truncatingIfNeeded: (one.high ^ other.low &* 0x9e37_79b9_7f4a_7c15) >> 3) & (most - 1)
    }
}
