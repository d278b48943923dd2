// Which subjects' records were changed by events of the stream, so that a block that was judged at the same time is judged again.

public import Admission
internal import CPlatform
public import Judging
internal import Platform

/// What the stream has changed of what is on record, so that a block that was judged at the same time knows whether it must be judged
/// again. Changes are noted in turn.
public final class ConsentChanges: @unchecked Sendable {
    /// More than blocks can be under way.
    private static let most = 512

    // Written under the lock, and read without it.
    private let counter: UnsafeMutablePointer<UInt32>
    /// Those of the last changes, the newest last.
    private let recent = Monitor<[[SubjectKey]]>([])

    public init() {
        counter = .allocate(capacity: 1)
        counter.initialize(to: 0)
    }

    deinit { counter.deallocate() }

    /// Rises with every change.
    public var epoch: UInt32 { cplatform_load(counter) }

    public func note(_ keys: [SubjectKey]) {
        recent.withLock { recent in
            if recent.count == ConsentChanges.most { recent.removeFirst(ConsentChanges.most / 2) }
            recent.append(keys)
            cplatform_store(counter, epoch &+ 1)
        }
    }

    /// Whether something changed since then that the judge went by.
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
