// Whether the store of a lane works, and when each of its acts may be tried again. A pure value. It promises that a fault is reported once
// when it begins and once when it is over.

internal import Platform
internal import Spool

struct StoreHealth {
    /// How the lane uses its store.
    enum Use: Equatable {
        /// The lane has no store.
        case none
        case inUse
        /// The lane ended while nothing could be stored. The store then only has to be closed.
        case givenUp
        case closed
    }

    var use: Use
    /// True if the files of the spool were removed or moved away.
    var isGone = false
    /// True if the store must check whether its files are still in their place.
    var mustCheckPlace = false
    /// True if the last check, at the very end, has been made.
    var isPlaceChecked = false
    private(set) var fault: SpoolFault?
    /// The act that failed. The fault is over when this act succeeds.
    private(set) var failedAct: StoreAct?
    /// All acts of the store, and new rows.
    var stores = RetryTimer()
    /// Recording outcomes while the disk is full.
    var records = RetryTimer()
    var reads = RetryTimer()
    /// Sweeps that failed because the disk was full.
    var sweeps = RetryTimer()

    /// True if events can still go to disk.
    var canStore: Bool { use == .inUse && !isGone }
    var isFull: Bool { fault?.kind == .full }

    func mayStore(at now: Instant) -> Bool { stores.isDue(at: now) }
    /// Returns true for acts that free space. They also run while the disk is full, unless such an act has just failed because the disk was
    /// full.
    func mayRecord(at now: Instant) -> Bool { mayStore(at: now) || isFull && records.isDue(at: now) }

    /// Ends the fault. Returns the act that succeeds again, or nil if there was no fault that was reported.
    mutating func endFault() -> StoreAct? {
        stores.reset()
        guard !isGone, fault != nil else { return nil }
        defer { (fault, failedAct) = (nil, nil) }
        return failedAct ?? .rows
    }

    /// Notes a fault of this act. Returns true if it must be reported.
    mutating func note(_ fault: SpoolFault, of act: StoreAct) -> Bool {
        let isNew = self.fault?.kind != fault.kind && !isGone
        // After storing has failed, the same failure of an act that frees space is no new fault.
        if act == .reads || failedAct != .rows || self.fault?.kind != fault.kind { failedAct = act }
        if !isGone { self.fault = fault }
        return isNew
    }

    /// Notes that the files are gone.
    mutating func noteGone(_ fault: SpoolFault) {
        assert(use != .none, "files are gone that the lane never had")
        isGone = true
        self.fault = fault
        stores.reset()
    }
}
