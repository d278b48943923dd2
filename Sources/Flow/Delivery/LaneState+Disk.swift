// Decides for a lane with a spool which events go to disk, and what the store does next. With `spill`, events go to disk only when memory
// is full or older events are still on disk, and they are acknowledged at once. Otherwise every event that the lane keeps is stored before
// it is acknowledged or delivered. This file is a part of the pure lane state.

internal import Admission
internal import ConsentGate
internal import Plans
internal import Platform
internal import Spool

extension LaneState {
    /// The next task of the thread that has the store.
    enum DiskStep {
        case commit(SpoolWork)
        case read(after: Int64, most: Int)
        /// Check whether the files are in their place.
        case check
        /// Destroy events in rows after this one that may not be delivered any more or are too old.
        case sweep(after: Int64, SweepOrder)
        /// Give free space back. With `clearsGaps`, also remove the remains of destroyed events from the file.
        case tidy(clearsGaps: Bool)
        case wait(until: Instant?)
        /// The lane is over. Close the store and end the thread.
        case close
    }

    /// What the store must look for in its rows.
    struct SweepOrder {
        /// True if events whose subject has refused must go, in addition to those that are too old.
        var checksConsent: Bool
        var retention: Retention
        /// The time in nanoseconds since 1970.
        var now: Int64

        func sweep(_ check: SecondCheck?) -> RetentionSweep { RetentionSweep(checksConsent ? check : nil, retention, now: now) }
    }

    private var spills: Bool { plan.queue.full == .spill }
    private var diskLimit: Int { plan.queue.disk ?? .max }

    /// Returns true if events of this size must wait, either until there is free space or until the disk has caught up.
    func mustWait(for bytes: Int) -> Bool {
        if isStoreGone { return false }
        guard canStore else {
            return (plan.queue.full == .block || spills) && !hasRoom(for: bytes)
        }
        guard goesToDisk(bytes) else { return false }
        if toDrop > 0 { return true }
        if storeFault == nil || !drops {
            // Events that wait to be stored have a limit of their own, so that a full memory does not keep them from the disk.
            let most = spills ? max(plan.queue.memory / 2, plan.batch.bytes) : plan.queue.memory
            if backlog.unstoredBytes > 0, backlog.unstoredBytes + bytes > most { return true }
        }
        return !drops && !hasDiskRoom(for: bytes)
    }

    /// True if events can still go to disk.
    var canStore: Bool { isDurable && !isStoreGivenUp && !isStoreClosed && !isStoreGone }

    var drops: Bool { plan.queue.full == .dropNewest || plan.queue.full == .dropOldest }

    /// Returns true if the disk budget allows this many bytes more. An empty queue on disk takes a parcel of any size.
    private func hasDiskRoom(for bytes: Int) -> Bool {
        let held = backlog.diskBytes + backlog.unstoredBytes
        return held == 0 || held + bytes <= diskLimit
    }

    func goesToDisk(_ bytes: Int) -> Bool {
        !spills || backlog.isBehind || phase == .ended || phase == .stopped || heldBytes > 0 && heldBytes + bytes > plan.queue.memory
    }

    mutating func takeToDisk(_ parcel: inout Parcel, receipt: Receipt?, at now: Instant, effects: inout [Effect]) {
        let hasRoom = hasDiskRoom(for: parcel.byteCount)
        if drops, !hasRoom || storeFault != nil && !roomBehindFault(parcel.byteCount) {
            if !isDropping { effects.append(.dropping) }
            isDropping = true
            if plan.queue.full == .dropNewest || storeFault != nil {
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
        sealAssembly(at: now, always: true)
        backlog.take(&parcel, at: now)
        guard let receipt else { return }
        if spills { effects.append(.acknowledge([receipt])) } else { receipts.append((backlog.taken, receipt)) }
    }

    private func roomBehindFault(_ bytes: Int) -> Bool { backlog.unstoredBytes + bytes <= plan.queue.memory }

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

    mutating func sealWhatIsDue(at now: Instant, always: Bool) {
        sealAssembly(at: now, always: always)
        // Rows that are still on disk follow the gathered rows and may fill their batch.
        if isDurable { sealGathered(at: now, always: always && !backlog.hasMore) }
    }

    mutating func sealGathered(at now: Instant, always: Bool) {
        var sealed: [Waiting] = []
        backlog.sealIfDue(at: now, always: always) { sealed.append(Waiting($0, share: $1, attempts: $2, firstTried: $3, epoch: epoch)) }
        for waiting in sealed { queue.append(waiting) }
    }

    /// True if all events on disk are also in memory as batches, and no event waits to be stored.
    var isDiskEmpty: Bool { !backlog.hasMore && !backlog.hasGathered && backlog.unstoredBytes == 0 }

    // MARK: - The store

    /// The number of attempts to store the rest after the lane has ended, and the pause between them.
    private static let lastTries = 3
    private static let lastPause = Duration.milliseconds(100)

    mutating func diskStep(at now: Instant) -> DiskStep {
        if isStoreClosed { return .wait(until: nil) }
        if isStoreGivenUp { return .close }
        if mustCheckPlace {
            mustCheckPlace = false
            return .check
        }
        let isEnding = phase == .ended
        let isFull = storeFault?.kind == .full
        let mayStore = storeAgain.map { $0 <= now } ?? true
        // Acts that free space also run while the disk is full, unless such an act has just failed because the disk was full.
        let mayRecord = mayStore || isFull && recordAgain.map { $0 <= now } ?? true
        // A deletion frees space.
        let maySweep = mayRecord && (sweepAgain.map { $0 <= now } ?? true) && !(isEnding && sweepFailures >= LaneState.lastTries)
        if maySweep, let sweeping, let row = sweeping.row {
            self.sweeping?.isAsked = true
            let order = SweepOrder(checksConsent: sweeping.isForWithdrawal && checksConsent, retention: retention, now: wall(now))
            return .sweep(after: max(row, backlog.position), order)
        }
        // This comes before all other work, since a withdrawal waits until the destroyed events have left the file.
        if mayRecord, let sweeping, sweeping.row == nil, !sweeping.isStored {
            if let work = backlog.work(at: now, onlyRecords: !mayStore) { return .commit(work) }
            self.sweeping?.isStored = true
        }
        let isSwept = sweeping.map { $0.row == nil } ?? true
        if mayStore, isSwept, sweeping?.isStored ?? false, isUntidy, tidyAt.map({ $0 <= now }) ?? true { return .tidy(clearsGaps: true) }
        let readsOn = !isEnding && phase != .stopped && backlog.hasMore && (toDrop > 0 || wantsRows)
        if readsOn, mayStore || isFull, readAgain.map({ $0 <= now }) ?? true {
            let room = max(plan.batch.bytes, plan.queue.memory / 2 - heldBytes)
            return .read(after: backlog.position, most: min(room, 4 << 20))
        }
        // Delivered events are removed also from a full disk, which frees space.
        if mayRecord, let work = backlog.work(at: now, onlyRecords: !mayStore) { return .commit(work) }
        if isEnding, isProviderClosed || givenUpFor != nil || isClosedByProvider, !backlog.hasWork, !isBurying {
            // The lane is about to report that the rest waits on disk, so it first checks that the files are still there.
            if account.totalWaiting == 0 || !canStore || isPlaceChecked { return .close }
            isPlaceChecked = true
            return .check
        }
        // If the store may be used and has nothing to do, there is no time to wait for.
        var again = mayStore ? nil : storeAgain
        if isFull, !mayStore, backlog.hasRecords || sweeping != nil, let recordAgain { again = again.map { min($0, recordAgain) } }
        if sweeping?.row != nil, let sweepAgain, sweepFailures < LaneState.lastTries || !isEnding {
            again = again.map { min($0, sweepAgain) } ?? sweepAgain
        }
        if readsOn, mayStore || isFull, let readAgain { again = again.map { min($0, readAgain) } ?? readAgain }
        if isUntidy, isSwept {
            let at = tidyAt ?? (sweeping == nil ? now + .seconds(1) : now)
            tidyAt = at
            if at <= now { return .tidy(clearsGaps: sweeping != nil) }
            return .wait(until: again.map { min($0, at) } ?? at)
        }
        return .wait(until: again)
    }

    /// True if confirmed deliveries cannot be recorded because the disk is full. Events that are handed over now would be handed over again
    /// after a kill, so nothing is handed over until recording works.
    var isUnrecorded: Bool { recordFailures > 0 && !isStoreGone }

    /// True if memory has space for more rows.
    private var wantsRows: Bool { heldBytes - backlog.unstoredBytes <= plan.queue.memory / 2 }

    mutating func committed(at now: Instant) -> [Effect] {
        var sealed: [Waiting] = []
        let isLive = phase == .open || phase == .draining
        let room = isLive ? max(0, plan.queue.memory / 2 - (heldBytes - backlog.unstoredBytes)) : 0
        let hasStored = backlog.isStoring
        let letGo = backlog.committed(roomFor: room, at: now) {
            sealed.append(Waiting($0, share: $1, attempts: $2, firstTried: $3, epoch: epoch))
        }
        heldBytes -= letGo
        for waiting in sealed { queue.append(waiting) }
        isUntidy = true
        tidyAt = nil
        if sweeping?.row == nil { sweeping?.isStored = true }
        (recordAgain, recordFailures) = (nil, 0)
        var effects: [Effect] = []
        if failedAct == .rows, !hasStored {
            // The commit may have freed space for rows that wait.
            if let again = storeAgain { storeAgain = min(again, now + plan.retry.first) }
        } else if failedAct != .reads, failedAct != .sweeps {
            endFault(&effects)
        }
        var settled: [Receipt] = []
        while let next = receipts.first, next.position <= backlog.stored { settled.append(receipts.removeFirst().receipt) }
        if !settled.isEmpty { effects.append(.acknowledge(settled)) }
        return effects
    }

    /// Records that some rows were swept successfully.
    mutating func hasSwept(_ effects: inout [Effect]) {
        if sweepFailures > 0 { effects.append(.storing(nil, .sweeps)) }
        (sweepAgain, sweepFailures) = (nil, 0)
        if failedAct == .sweeps { endFault(&effects) }
    }

    private mutating func endFault(_ effects: inout [Effect]) {
        (storeAgain, storeFailures) = (nil, 0)
        guard !isStoreGone else { return }
        if storeFault != nil { effects.append(.storing(nil, failedAct ?? .rows)) }
        (storeFault, failedAct) = (nil, nil)
    }

    /// Handles a failed commit. The store is used again after a pause. A lane that has ended makes only a few attempts.
    mutating func storeFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        let act: Lane.StoreAct = backlog.isStoring ? .rows : .records
        backlog.failed()
        return failed(act, fault, at: now)
    }

    /// Handles a failed sweep.
    mutating func sweepFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        guard fault.kind == .full else { return failed(.sweeps, fault, at: now) }
        // The other acts continue and may free space.
        sweepFailures += 1
        sweepAgain = now + (phase == .ended ? LaneState.lastPause : backoff.wait(after: min(sweepFailures, 6), &random))
        return sweepFailures == 1 ? [.storing(fault, .sweeps)] : []
    }

    private mutating func failed(_ act: Lane.StoreAct, _ fault: SpoolFault, at now: Instant) -> [Effect] {
        if fault.kind == .removed, !isStoreGone { return storeGone(fault, at: now) }
        if act == .records, fault.kind == .full {
            recordFailures += 1
            let again = now + backoff.wait(after: min(recordFailures, 6), &random)
            recordAgain = again
            storeAgain = storeAgain.map { max($0, again) } ?? again
        } else {
            storeFailures += 1
            storeAgain = now + backoff.wait(after: min(storeFailures, 6), &random)
        }
        // After storing has failed, the same failure of an act that frees space is no new fault.
        if failedAct != .rows || storeFault?.kind != fault.kind { failedAct = act }
        var effects: [Effect] = storeFault?.kind == fault.kind || isStoreGone ? [] : [.storing(fault, act)]
        if !isStoreGone { storeFault = fault }
        guard phase == .ended else { return effects }
        if storeFailures + recordFailures < LaneState.lastTries {
            storeAgain = now + LaneState.lastPause
            if recordAgain != nil { recordAgain = storeAgain }
            return effects
        }
        let answer = Answer("it could not be stored: \(fault)")
        for row in backlog.takeUnstored(at: now) {
            let waiting = Waiting(batch: row.batch, attempts: row.attempts, mayHaveArrived: row.mayHaveArrived)
            bury(waiting, fate: waiting.fate(otherwise: .undelivered), answer: answer, effects: &effects)
        }
        _ = receipts.removeAll()
        isStoreGivenUp = true
        return effects
    }

    mutating func rowsRead(_ rows: [SpoolRow], at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        (readAgain, readFailures) = (nil, 0)
        if failedAct == .reads { endFault(&effects) }
        var kept: [SpoolRow] = []
        for row in rows {
            guard toDrop > 0 else {
                kept.append(row)
                continue
            }
            toDrop = max(0, toDrop - row.batch.bytes.count)
            for entry in row.batch.entries { account.settle(entry.route, fate: .dropped) }
            backlog.drop(row)
        }
        if rows.isEmpty { toDrop = 0 }
        guard !kept.isEmpty || rows.isEmpty else { return effects }
        var sealed: [Waiting] = []
        heldBytes += backlog.gather(read: kept, at: now) {
            sealed.append(Waiting($0, share: $1, attempts: $2, firstTried: $3, epoch: epoch))
        }
        for waiting in sealed { queue.append(waiting) }
        return effects
    }

    /// Handles a failed read. The rows stay on disk and are read again after a pause.
    mutating func readFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        if fault.kind == .removed, !isStoreGone { return storeGone(fault, at: now) }
        readFailures += 1
        let again = now + backoff.wait(after: min(readFailures, 6), &random)
        readAgain = again
        if isStoreGone { return [] }
        storeAgain = storeAgain.map { max($0, again) } ?? again
        defer { (storeFault, failedAct) = (fault, .reads) }
        return storeFault?.kind == fault.kind ? [] : [.storing(fault, .reads)]
    }

    mutating func lost(_ loss: SpoolLoss) -> [Effect] {
        for (route, count) in loss.routes { account.settle(route, fate: .damaged, count: count) }
        backlog.lose(loss)
        return [.damaged(loss)]
    }

    /// Records the end of tidying. A sweep needs it to succeed; otherwise the space is given back another time.
    mutating func tidied(isDone: Bool, _ answers: ConsentAnswers, at now: Instant) -> [Effect] {
        guard isDone || sweeping == nil else {
            tidyAt = now + .seconds(1)
            return []
        }
        isUntidy = false
        tidyAt = nil
        return finishSweep(answers)
    }

    mutating func storeClosed(_ answers: ConsentAnswers) -> [Effect] {
        isStoreClosed = true
        var unswept: [Effect] = []
        if let sweeping {
            // Some destroyed events may still be in the file.
            var swept = report(of: sweeping.swept, answers)
            swept.isCut = true
            unswept = [.swept(swept, sweeping.done)]
        }
        sweeping = nil
        if isStoreGone { return unswept + loseRest() }
        let left = account.totalWaiting
        return unswept + (left > 0 ? [.left(left)] : [])
    }

    // MARK: - The end

    /// Leaves the events on disk, and stores those that are only in memory.
    mutating func keep(_ waiting: Waiting) {
        heldBytes -= waiting.batch.bytes.count
        if waiting.share == nil { keepInOrder([waiting]) }
    }

    mutating func keepAll(_ phase: Phase, _ answers: ConsentAnswers) {
        self.phase = phase
        sealAssembly(at: Instant(nanoseconds: .max), always: true)
        for token in inFlight.keys { inFlight[token]?.mayHaveArrived = true }
        var all = inFlight.sorted { $0.key < $1.key }.map(\.value)
        all += letters.removeAll().map(\.waiting) + queue.removeAll()
        inFlight.removeAll()
        inFlightBytes = 0
        all = all.compactMap { rest(of: $0, answers[$0.batch]) }
        for waiting in all { heldBytes -= waiting.batch.bytes.count }
        backlog.forgetGathered()
        keepInOrder(all)
    }

    /// Stores batches that are only in memory in front of the rows that follow them.
    private mutating func keepInOrder(_ all: [Waiting]) {
        for waiting in all where waiting.share == nil {
            heldBytes += waiting.batch.bytes.count
            if isStoreGone {
                lose(waiting.batch, mayHaveArrived: waiting.mayHaveArrived)
                continue
            }
            backlog.store(
                waiting.batch, behind: waiting.floor, attempts: waiting.attempts,
                firstTried: waiting.firstTried.map { $0.nanoseconds + epoch }, mayHaveArrived: waiting.mayHaveArrived)
        }
    }
}

extension LaneState.Waiting {
    init(_ batch: Batch, share: Backlog.Share, attempts: Int, firstTried: Int64?, epoch: Int64) {
        self.init(batch: batch, attempts: attempts, firstTried: firstTried.map { Instant(nanoseconds: $0 - epoch) }, share: share)
    }

    /// Returns a copy that has only the events at these indices.
    func part(_ indices: [Int]) -> LaneState.Waiting {
        var part = self
        part.batch = batch.subset(indices)
        if let share {
            part.share = Backlog.Share(
                origin: share.origin, members: share.members.map { members in indices.map { members[$0] } } ?? indices)
        }
        return part
    }
}
