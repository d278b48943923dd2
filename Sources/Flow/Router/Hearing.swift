// How a worker hears what events say to the ledger, and how it learns that what it judged by has changed since.

internal import Admission
internal import CPlatform
internal import Judging
internal import Platform

/// For one block.
struct Hearing {
    /// Whether the source of the block, or the key it came with, may write the ledger.
    let mayWrite: Bool
    /// How often the stream had changed what is on record when the block was begun.
    let epoch: UInt32
    let ties: KnownTies
    /// How many ids had been set apart from others then.
    let unties: Int
    /// An event was taken to say nothing new since its ids were known to be tied.
    var trustedTies = false
}

/// What the stream has changed of what is on record, so that a block that was judged at the same time knows whether it must be judged
/// again. Changes are noted in turn.
final class ConsentChanges: @unchecked Sendable {
    /// More than blocks can be under way.
    private static let most = 512

    // Written under the lock, and read without it.
    private let counter: UnsafeMutablePointer<UInt32>
    /// Those of the last changes, the newest last.
    private let recent = Monitor<[[SubjectKey]]>([])

    init() {
        counter = .allocate(capacity: 1)
        counter.initialize(to: 0)
    }

    deinit { counter.deallocate() }

    /// Rises with every change.
    var epoch: UInt32 { cplatform_load(counter) }

    func note(_ keys: [SubjectKey]) {
        recent.withLock { recent in
            if recent.count == ConsentChanges.most { recent.removeFirst(ConsentChanges.most / 2) }
            recent.append(keys)
            cplatform_store(counter, epoch &+ 1)
        }
    }

    /// Whether something changed since then that the judge went by.
    func concern(_ judge: borrowing Judge, since: UInt32) -> Bool {
        let changes: [[SubjectKey]]? = recent.withLock { recent in
            let count = Int(epoch &- since)
            return count > recent.count ? nil : Array(recent.suffix(count))
        }
        guard let changes else { return true }
        for keys in changes {
            for key in keys where judge.hasAsked(for: key) { return true }
        }
        return false
    }
}

/// Pairs of ids that are tied in the ledger, of which an event need not tell it again. Some that were here once are not any more.
final class KnownTies: Sendable {
    private struct Pair {
        var one: SubjectKey
        var other: SubjectKey
        /// What was set apart by then.
        var unties: Int
    }
    private static let most = 1 << 14
    private let pairs = Monitor<[Int: Pair]>([:])
    /// How many ids have been set apart.
    let unties: @Sendable () -> Int

    init(unties: @escaping @Sendable () -> Int) { self.unties = unties }

    func knows(_ one: SubjectKey, _ other: SubjectKey) -> Bool {
        guard let pair = pairs.withLock({ $0[KnownTies.place(one, other)] }) else { return false }
        return pair.one == one && pair.other == other && pair.unties == unties()
    }

    func learn(_ one: SubjectKey, _ other: SubjectKey) {
        let pair = Pair(one: one, other: other, unties: unties())
        pairs.withLock { $0[KnownTies.place(one, other)] = pair }
    }

    /// A pair takes the place of another one.
    private static func place(_ one: SubjectKey, _ other: SubjectKey) -> Int {
        Int(truncatingIfNeeded: (one.high ^ other.low &* 0x9e37_79b9_7f4a_7c15) >> 3) & (most - 1)
    }
}
