// The thread that sees to what is held: it releases what was answered, destroys what nobody answers in time, and changes the file.

internal import Admission
internal import Delivery
internal import Judging
internal import Platform
internal import Spool

extension Holds {
    /// Takes steps until it is told to end.
    func work() {
        let bench = HoldBench(roster.current, sources: sources)
        while true {
            let step = book.waitUntilReady { $0.next(at: clock.now(), wall: clock.wall()) }
            if case .end = step { return }
            carryOut(step, bench)
        }
    }

    /// Takes all steps that are due by now.
    func settle() {
        let bench = HoldBench(roster.current, sources: sources)
        while case .ready(let step) = book.withLock({ $0.next(at: clock.now(), wall: clock.wall()) }) {
            if case .end = step { return }
            carryOut(step, bench)
        }
    }

    private func carryOut(_ step: HoldBook.Step, _ bench: HoldBench) {
        do throws(StorageFault) {
            switch step {
            case .change(let change): try commit(change)
            case .expire(let time): try expire(before: time)
            case .release(let subjects, let after): try release(subjects, after: after, bench)
            case .tidy: try use { (file) throws(StorageFault) in try file.tidy() }
            case .end: break
            }
        } catch {
            if error.kind != .taken { note(error) }
            let now = clock.now()
            book.withLock { book in
                switch step {
                case .change(let change): book.failed(change, at: now)
                case .tidy: book.becomeUntidy(at: now)
                case .expire, .release, .end: book.failed(at: now)
                }
            }
        }
    }

    func commit(_ change: HoldChange) throws(StorageFault) {
        try use { (file) throws(StorageFault) in
            try file.change(remove: change.remove.map(\.id), narrow: change.narrow.map { ($0.id, $0.routes) })
            try noteOldest(of: file)
        }
        let now = clock.now()
        let destroyed = book.withLock { $0.changed(change, at: now) }
        totals.withLock { totals in for row in destroyed { totals.settle(held: row.routes, as: .withdrawn) } }
    }

    private func noteOldest(of file: HeldFile) throws(StorageFault) {
        let oldest = try file.oldest()
        book.withLock { $0.note(oldest: oldest) }
    }

    private func expire(before time: Int64) throws(StorageFault) {
        let gone = try use { (file) throws(StorageFault) in
            let rows = try file.rows(before: time, most: Holds.page)
            let gone = book.withLock { book in rows.filter { !book.isOnItsWay($0.id) } }
            try file.change(remove: gone.map(\.id))
            try noteOldest(of: file)
            return gone
        }
        let now = clock.now()
        book.withLock { $0.expired(gone, at: now) }
        totals.withLock { totals in for row in gone { totals.settle(held: row.routes, as: .expired) } }
    }

    private func release(_ subjects: [SubjectKey], after: Int64, _ bench: HoldBench) throws(StorageFault) {
        let (events, next): ([HeldEvent], Int64?) = try use { (file) throws(StorageFault) in
            // While the file is locked no withdrawal can come in between.
            let page = try file.events(
                of: subjects, after: after, most: Holds.page, bytes: Holds.pageBytes,
                except: { id in book.withLock { $0.isOnItsWay(id) } })
            book.withLock { $0.begin(page.events.map(\.row.id)) }
            return page
        }
        if !events.isEmpty {
            let generation = roster.enter()
            defer { roster.leave(generation) }
            let change = decide(events, bench.judge(events, by: generation), bench)
            handOver(bench.parcels, generation, change)
        }
        book.withLock { $0.released(upTo: next) }
    }

    /// Counts what was decided; what the file is to be changed for it.
    private func decide(_ events: [HeldEvent], _ verdicts: [HoldBench.Verdicts], _ bench: HoldBench) -> HoldChange {
        var change = HoldChange()
        var settled: HoldBench.Verdicts = []
        book.withLock { book in
            for (event, verdicts) in zip(events, verdicts) {
                let left = verdicts.filter { $0.verdict.isOpen || book.isWithdrawing && $0.verdict.isRefusal }
                settled += verdicts.filter { one in !left.contains { $0.route == one.route } }
                if left.count == verdicts.count, !verdicts.isEmpty {
                    if book.stays(event.row) { continue }
                    settled += left.map { ($0.route, .withdrawn) }
                    book.remove(event.row)
                } else if left.isEmpty {
                    change.remove.append(event.row)
                } else {
                    var row = event.row
                    row.routes = left.map(\.route)
                    change.narrow.append(row)
                }
            }
        }
        totals.withLock { totals in
            for (route, verdict) in settled { totals.settle(held: route, as: verdict, targets: bench.targets(route)) }
        }
        return change
    }

    /// The rows leave the file when every lane has what is its own.
    private func handOver(_ parcels: UnsafeMutableBufferPointer<Parcel>, _ generation: Generation, _ change: HoldChange) {
        let receipt = Receipt { [weak self] in
            guard let self, !change.isEmpty else { return }
            book.withLock { $0.settle(change) }
            book.wake()
        }
        for (index, post) in generation.posts.enumerated() where !parcels[index].isEmpty {
            receipt.add()
            if !post.lane.take(&parcels[index], receipt) { post.lane.waitAndTake(&parcels[index], receipt) }
        }
        receipt.settle()
    }
}
