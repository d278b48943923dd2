// The thread that works on held events: it releases the events of subjects that have answered, destroys expired events, and changes the
// file.

public import Admission
internal import Delivery
public import Generations
internal import HeldEventStore
internal import Judging
internal import Platform
public import Queueing

extension HeldStore {
    /// Takes steps until the index says that it ends.
    public func work() {
        let heldJudge = HeldJudge(generations.current, sources: sources)
        while true {
            let step = heldIndex.waitUntilReady { $0.next(at: clock.now(), wall: clock.wall()) }
            if case .end = step { return }
            carryOut(step, heldJudge)
        }
    }

    /// Takes all steps that are due now.
    public func settle() {
        let heldJudge = HeldJudge(generations.current, sources: sources)
        while case .ready(let step) = heldIndex.withLock({ $0.next(at: clock.now(), wall: clock.wall()) }) {
            if case .end = step { return }
            carryOut(step, heldJudge)
        }
    }

    func carryOut(_ step: HeldIndex.Step, _ heldJudge: HeldJudge) {
        do throws(StorageFault) {
            switch step {
            case .change(let change): try commit(change)
            case .expire(let time): try expire(before: time, heldJudge)
            case .age(let time): try destroyAged(at: time, heldJudge)
            case .release(let subjects, let after): try release(subjects, after: after, heldJudge)
            case .tidy: try use { (file) throws(StorageFault) in try file.tidy() }
            case .end: break
            }
        } catch {
            if error.kind != .taken { note(error) }
            let now = clock.now()
            heldIndex.withLock { heldIndex in
                switch step {
                case .change(let change): heldIndex.failed(change, at: now)
                case .tidy: heldIndex.becomeUntidy(at: now)
                case .expire, .age, .release, .end: heldIndex.failed(at: now)
                }
            }
            heldIndex.wake()
        }
    }

    func commit(_ change: HeldChange) throws(StorageFault) {
        try use { (file) throws(StorageFault) in
            try file.change(remove: change.remove.map(\.id), narrow: change.narrow.map { ($0.id, $0.routes) })
            try noteOldest(of: file)
        }
        let now = clock.now()
        let destroyed = heldIndex.withLock { $0.changed(change, at: now) }
        var verdicts = HeldVerdicts(generations.current, names: names)
        for row in destroyed { verdicts.add(change.hashes[row.id], row.routes, .withdrawn) }
        tell(verdicts)
        totals.withLock { totals in for row in destroyed { totals.settle(held: row.routes, as: .withdrawn) } }
    }

    func noteOldest(of file: HeldFile) throws(StorageFault) {
        let oldest = try file.oldest()
        heldIndex.withLock { $0.note(oldest: oldest) }
    }

    private func expire(before time: Int64, _ heldJudge: HeldJudge) throws(StorageFault) {
        let generation = generations.enter()
        defer { generations.leave(generation) }
        var verdicts = HeldVerdicts(generation, names: names)
        let gone = try use { (file) throws(StorageFault) in
            let rows = try file.rows(before: time, most: HeldStore.page)
            let gone = heldIndex.withLock { heldIndex in rows.filter { !heldIndex.isOnItsWay($0.id) } }
            for row in gone { verdicts.add(try hash(of: row, in: file, generation, heldJudge), row.routes, .expired) }
            try file.change(remove: gone.map(\.id))
            try noteOldest(of: file)
            return gone
        }
        let now = clock.now()
        heldIndex.withLock { $0.expired(gone, at: now) }
        totals.withLock { totals in for row in gone { totals.settle(held: row.routes, as: .expired) } }
        tell(verdicts)
    }

    /// Returns the hash for the audit trail of an event that is destroyed without being judged.
    func hash(of row: HeldRow, in file: HeldFile, _ generation: Generation, _ heldJudge: HeldJudge) throws(StorageFault) -> [UInt8]? {
        generation.ruleset.keepsVerdicts ? heldJudge.hash(of: try file.event(row.id), by: generation) : nil
    }

    private func release(_ subjects: [SubjectKey], after: Int64, _ heldJudge: HeldJudge) throws(StorageFault) {
        let (events, next): ([HeldEvent], Int64?) = try use { (file) throws(StorageFault) in
            // The rows are marked while the file is locked, so that no withdrawal can sweep them between the two steps.
            let page = try file.events(
                of: subjects, after: after, most: HeldStore.page, bytes: HeldStore.pageBytes,
                except: { id in heldIndex.withLock { $0.isOnItsWay(id) } })
            heldIndex.withLock { $0.begin(page.events.map(\.row.id)) }
            return page
        }
        if !events.isEmpty {
            let generation = generations.enter()
            defer { generations.leave(generation) }
            var told = HeldVerdicts(generation, names: names)
            let change = decide(events, judged: heldJudge.judge(events, by: generation), heldJudge: heldJudge, told: &told)
            tell(told)
            // The events stay in the file of held events until their letters are written.
            generation.keep(rejected: heldJudge.takeRejected())
            handOver(heldJudge.parcels, generation: generation, change: change)
        }
        heldIndex.withLock { $0.released(upTo: next) }
        heldIndex.wake()
    }

    /// Counts the verdicts and returns the change of the file that follows from them. `told` gets the verdicts that are final.
    private func decide(
        _ events: [HeldEvent], judged: [HeldJudge.Judged], heldJudge: HeldJudge, told: inout HeldVerdicts
    ) -> HeldChange {
        assert(events.count == judged.count, "a held event has no verdicts")
        var change = HeldChange()
        var settled: HeldJudge.Verdicts = []
        heldIndex.withLock { heldIndex in
            for (event, judged) in zip(events, judged) {
                let verdicts = judged.verdicts
                let left = verdicts.filter { $0.verdict.isOpen || heldIndex.isWithdrawing && $0.verdict.isRefusal }
                let final = verdicts.filter { one in !left.contains { $0.route == one.route } }
                settled += final
                told.add(judged.hash, final)
                if left.count == verdicts.count, !verdicts.isEmpty {
                    if heldIndex.stays(event.row) { continue }
                    settled += left.map { ($0.route, .withdrawn) }
                    told.add(judged.hash, left.map(\.route), .withdrawn)
                    heldIndex.remove(event.row)
                } else if left.isEmpty {
                    change.remove.append(event.row)
                } else {
                    var row = event.row
                    row.routes = left.map(\.route)
                    change.narrow.append(row)
                    change.hashes[row.id] = judged.hash
                }
            }
        }
        totals.withLock { totals in
            for (route, verdict) in settled { totals.settle(held: route, as: verdict, targets: heldJudge.targets(route)) }
        }
        return change
    }

    /// Hands over the parcels. The change of the file is scheduled when every lane has its parcel.
    private func handOver(_ parcels: UnsafeMutableBufferPointer<Parcel>, generation: Generation, change: HeldChange) {
        assert(parcels.count == generation.destinations.count, "a lane has no parcel")
        let receipt = Receipt { [weak self] in
            guard let self, !change.isEmpty else { return }
            heldIndex.withLock { $0.settle(change) }
            heldIndex.wake()
        }
        handOver(parcels, generation, receipt)
        settleWhenTold(receipt)
    }

    /// Lets each lane take its parcel. Waits while a lane has no room.
    public static func lanesTake(_ parcels: UnsafeMutableBufferPointer<Parcel>, _ generation: Generation, _ receipt: Receipt) {
        for (index, destination) in generation.destinations.enumerated() where !parcels[index].isEmpty {
            receipt.add()
            if !destination.lane.take(&parcels[index], receipt) { destination.lane.waitAndTake(&parcels[index], receipt) }
        }
    }
}
