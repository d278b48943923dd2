// Decides for a lane with a spool which events go to disk. With `spill`, events go to disk only when memory is full or older events are
// still on disk, and they are acknowledged at once, unless their source waits until they have come to their end. Otherwise every event that the lane keeps is stored before it is acknowledged or
// delivered. This file is a part of the pure lane state.

internal import Admission
internal import Plans
internal import Platform
internal import Spool

extension LaneState {
    private var spills: Bool { plan.queue.full == .spill }
    private var diskLimit: Int { plan.queue.disk ?? .max }

    /// Returns true if events of this size must wait, either until there is free space or until the disk has caught up.
    public func mustWait(for bytes: Int) -> Bool {
        if storeHealth.isGone { return false }
        guard storeHealth.canStore else {
            return (plan.queue.full == .block || spills) && !hasSpace(for: bytes)
        }
        guard goesToDisk(bytes) else { return false }
        if toDrop > 0 { return true }
        if storeHealth.fault == nil || !drops {
            // Events that wait to be stored have a limit of their own, so that a full memory does not keep them from the disk.
            let most = spills ? max(plan.queue.memory / 2, plan.batch.bytes) : plan.queue.memory
            if backlog.unstoredBytes > 0, backlog.unstoredBytes + bytes > most { return true }
        }
        return !drops && !hasDiskSpace(for: bytes)
    }

    /// Returns true if events of this size need not wait, and no fault of the store delays their acknowledgement.
    public func canPromise(_ bytes: Int) -> Bool {
        if mustWait(for: bytes) { return false }
        return drops || spills || !storeHealth.canStore || storeHealth.fault == nil
    }

    public var drops: Bool { plan.queue.full == .dropNewest || plan.queue.full == .dropOldest }

    /// Returns true if the disk budget allows this many bytes more. An empty queue on disk takes a parcel of any size.
    private func hasDiskSpace(for bytes: Int) -> Bool {
        let held = backlog.diskBytes + backlog.unstoredBytes
        return held == 0 || held + bytes <= diskLimit
    }

    func goesToDisk(_ bytes: Int) -> Bool {
        !spills || backlog.isBehind || phase == .ended || phase == .stopped || heldBytes > 0 && heldBytes + bytes > plan.queue.memory
    }

    mutating func takeToDisk(_ parcel: inout Parcel, receipt: Receipt?, at now: Instant, effects: inout [Effect]) {
        let hasSpace = hasDiskSpace(for: parcel.byteCount)
        if drops, !hasSpace || storeHealth.fault != nil && !fitsBehindFault(parcel.byteCount) {
            if !isDropping { effects.append(.dropping) }
            isDropping = true
            if plan.queue.full == .dropNewest || storeHealth.fault != nil {
                settle(&parcel, .dropped)
                if let receipt { effects.append(.acknowledge([receipt])) }
                return
            }
            dropOldestStored(parcel.byteCount)
        } else {
            isDropping = false
        }
        heldBytes += parcel.byteCount
        // Events that are only in memory go first, so their open batch is sealed now, whatever its age.
        if !assembly.isEmpty { sealAssembly() }
        backlog.take(&parcel, at: now)
        guard let receipt else { return }
        let isSafeInMemory = spills && receipt.mark == nil
        if isSafeInMemory {
            effects.append(.acknowledge([receipt]))
        } else {
            receipts.add(receipt, position: backlog.taken)
        }
    }

    private func fitsBehindFault(_ bytes: Int) -> Bool { backlog.unstoredBytes + bytes <= plan.queue.memory }

    /// Frees space on disk. It first drops batches that are also in memory. Then the store drops rows, which it must read to count their
    /// events by route.
    private mutating func dropOldestStored(_ bytes: Int) {
        var missing = backlog.diskBytes + backlog.unstoredBytes + bytes - diskLimit
        while missing > 0, !queue.isEmpty {
            let waiting = queue.removeFirst()
            missing -= waiting.batch.bytes.count
            settle(waiting, .dropped)
        }
        toDrop = min(max(0, missing), backlog.awayBytes)
    }

    mutating func sealGathered() {
        if let sealed = backlog.sealGathered() { queue.append(WaitingBatch(sealed, epoch: epoch)) }
    }

    /// True if all events on disk are also in memory as batches, and no event waits to be stored.
    var isDiskEmpty: Bool { !backlog.hasMore && !backlog.hasGathered && backlog.unstoredBytes == 0 }

    // MARK: - The end

    /// Leaves the events on disk, and stores those that are only in memory.
    mutating func keep(_ waiting: WaitingBatch) {
        heldBytes -= waiting.batch.bytes.count
        keepInOrder([waiting])
    }

    mutating func keepAll(_ phase: Phase, _ answers: ConsentAnswers) {
        self.phase = phase
        sealAssembly()
        sealGathered()
        var all = deliveries.removeAll()
        for index in all.indices { all[index].mayHaveArrived = true }
        all += letters.takeHeld().map(\.waiting) + queue.removeAll()
        all = all.compactMap { rest(of: $0, answers[$0.batch]) }
        for waiting in all { heldBytes -= waiting.batch.bytes.count }
        keepInOrder(all)
    }

    /// Stores batches that are only in memory in front of the rows that follow them.
    private mutating func keepInOrder(_ all: [WaitingBatch]) {
        for waiting in all {
            if waiting.share != nil {
                ending.kept.append(waiting)
                continue
            }
            heldBytes += waiting.batch.bytes.count
            if storeHealth.isGone {
                lose(waiting.batch, mayHaveArrived: waiting.mayHaveArrived)
                continue
            }
            backlog.store(
                waiting.batch, behind: waiting.floor, attempts: waiting.attempts,
                firstTried: waiting.firstTried.map { $0.nanoseconds + epoch }, mayHaveArrived: waiting.mayHaveArrived)
        }
    }
}
