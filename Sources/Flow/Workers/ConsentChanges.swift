// Tracks which subjects' consent records the stream changes, so that a block that was judged at the same time is judged again.

public import Admission
internal import CPlatform
public import Judging
internal import Platform

/// The changes that the stream has made to consent on record. Changes are noted in turn, by one thread at a time.
public final class ConsentChanges: @unchecked Sendable {
    /// The maximum number of changes that are remembered. It is greater than the number of blocks that can be under way.
    private static let most = 512

    // It is written under the lock and read without the lock.
    private let counter: UnsafeMutablePointer<UInt32>
    /// The subjects of the last changes, newest last.
    private let recent = Monitor<[[SubjectKey]]>([])

    public init() {
        counter = .allocate(capacity: 1)
        counter.initialize(to: 0)
    }

    deinit { counter.deallocate() }

    /// A number that rises with every change.
    public var epoch: UInt32 { cplatform_load(counter) }

    public func note(_ keys: [SubjectKey]) {
        recent.withLock { recent in
            if recent.count == ConsentChanges.most { recent.removeFirst(ConsentChanges.most / 2) }
            recent.append(keys)
            assert(recent.count <= ConsentChanges.most, "more changes are remembered than there may be")
            cplatform_store(counter, epoch &+ 1)
        }
    }

    /// Returns true if a change since that epoch concerns a subject that the judge asked for, or if too many changes followed to tell.
    public func concern(_ judge: borrowing Judge, since: UInt32) -> Bool {
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
