// Counts changes, so that a reader can find out without a lock if something has changed since it looked. The counter promises that a
// reader who sees a number also sees every change up to that number.

internal import CPlatform

final class ChangeCounter: @unchecked Sendable {
    private let number: UnsafeMutablePointer<UInt32>

    init() {
        number = .allocate(capacity: 1)
        number.initialize(to: 0)
    }

    deinit { number.deallocate() }

    /// The number of changes so far. It begins again at 0 after four billion changes. Reading takes no lock.
    var value: UInt32 { cplatform_load(number) }

    /// Counts a change that is complete. The caller holds the lock under which it made the change.
    func advance() { cplatform_store(number, cplatform_load(number) &+ 1) }
}
