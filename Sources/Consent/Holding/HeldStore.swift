// Holds events that wait for their subjects' consent. Events are stored in turn, before their source is answered; an event that cannot be
// stored is denied. When a subject answers, its events are judged again, in order, by the current plan. An event leaves the file when the
// lanes have it, so a crash loses no event but may repeat some. An event is destroyed if its subjects refuse, if nobody answers in time, or
// if `retention` lets nobody have it any more.

public import Admission
public import Audit
public import ConsentGate
internal import Delivery
public import Generations
public import HeldEventStore
public import Ledger
public import Plans
public import Platform
public import Queueing
internal import StateFiles

/// The path of the file of held events, and its options.
public struct HeldPlace: Sendable {
    public var path: String
    public var options: HeldFile.Options
    public init(path: String, options: HeldFile.Options = HeldFile.Options()) {
        self.path = path
        self.options = options
    }
}

public final class HeldStore: Sendable {
    /// Hands over the admitted events, one parcel for each provider of the plan, and empties the parcels. The receipt counts each lane that
    /// gets events.
    public typealias HandOver = @Sendable (UnsafeMutableBufferPointer<Parcel>, Generation, Receipt) -> Void

    /// The maximum number of events that are judged at a time.
    public static let page = 256
    static let pageBytes = 1_000_000

    public struct Storage {
        /// The file. It is nil if there is none yet, or if it cannot be opened.
        public var file: HeldFile?
        /// The time of the next try after a fault.
        public var again: Instant?
        public var isClosed = false
    }
    private struct Reported {
        var fault: StorageFault?
        var isFull = false
        /// True if the file was damaged at the start or was found to be damaged later.
        var isDamaged = false
        /// The number of events that were lost to damage.
        var damaged = 0
        /// True if damage was found during the run. The file is then left as it is for the next start.
        var isLeft = false
    }

    private let place: HeldPlace
    public let records: ConsentRecords
    public let generations: GenerationRegistry
    public let totals: Monitor<Totals>
    let names: RunNames
    public let sources: [SourcePlan]
    public let clock: Clock
    let handOver: HandOver
    private let audit: AuditLog?
    /// The number of hand-overs that wait until the audit trail has their verdicts.
    private let untold = Monitor(0)
    private let say: @Sendable (String) -> Void
    /// The lock order is `storage`, then `heldIndex`: never lock `storage` while `heldIndex` is locked.
    public let storage = Monitor(Storage())
    let heldIndex: Monitor<HeldIndex>
    private let reported = Monitor(Reported())

    /// `audit` is the trail that gets what becomes of held events. It is nil if none is kept.
    public init(
        _ place: HeldPlace, registry: Registry, generations: GenerationRegistry, totals: Monitor<Totals>, names: RunNames,
        sources: [SourcePlan],
        clock: Clock, audit: AuditLog? = nil, handOver: @escaping HandOver = HeldStore.lanesTake,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.handOver = handOver
        self.place = place
        records = registry.records
        self.generations = generations
        self.totals = totals
        self.names = names
        self.sources = sources
        self.clock = clock
        self.audit = audit
        self.say = say
        let plan = generations.current.plan
        heldIndex = Monitor(HeldIndex(plan.consent?.hold ?? HoldPlan(), shortestLimit: HeldStore.shortestLimit(plan)))
        registry.onChange { [weak self] changes in self?.heard(changes) }
    }

    /// Adopts the limits of a new plan.
    public func adopt(_ plan: Plan) {
        heldIndex.withLock { heldIndex in
            heldIndex.bounds = plan.consent?.hold ?? HoldPlan()
            heldIndex.shortestLimit = HeldStore.shortestLimit(plan)
        }
        heldIndex.wake()
        reported.withLock { $0.isFull = false }
    }

    /// The number and size of the held events, and the state of the file.
    public var status: HeldStatus {
        var status = HeldStatus()
        heldIndex.withLock { heldIndex in
            (status.events, status.bytes, status.oldest) = (heldIndex.stored.events, heldIndex.stored.bytes, heldIndex.oldest)
        }
        status.resumed = totals.withLock { $0.resumed }
        let fault = reported.withLock { reported in
            (status.isDamaged, status.damaged) = (reported.isDamaged, reported.damaged)
            return reported.fault
        }
        status.fault = fault?.description
        if fault?.kind == .removed { status.gone = fault }
        return status
    }

    // MARK: - The file

    public func use<R>(_ body: (HeldFile) throws(StorageFault) -> R) throws(StorageFault) -> R {
        try storage.withLock { (storage) throws(StorageFault) in
            if let file = storage.file { return try body(file) }
            if storage.isClosed { throw StorageFault(.failed, "\(place.path): the router is ending") }
            let file = try open(makes: true)!
            storage.file = file
            return try body(file)
        }
    }

    private func open(makes: Bool) throws(StorageFault) -> HeldFile? {
        var options = place.options
        options.say = say
        options.clock = clock
        let file = try HeldFile(path: place.path, makes: makes, names: names, options: options)
        if let loss = file?.loss {
            reported.withLock { reported in
                reported.isDamaged = true
                reported.damaged += loss.events
            }
        }
        return file
    }

    /// Returns a fault if the file is no longer at its path. Then nothing more is stored, but events can still be removed from the file.
    public func checkPlace() -> StorageFault? {
        storage.withLock { storage in
            do throws(StorageFault) {
                try storage.file?.checkPlace()
                return nil
            } catch {
                storage.file?.letGo()
                note(error)
                return error
            }
        }
    }

    public func note(_ fault: StorageFault?) {
        let before = reported.withLock { reported in
            if fault?.kind == .damaged { (reported.isDamaged, reported.isLeft) = (true, true) }
            // A removed file does not come back.
            if reported.fault?.kind == .removed { return reported.fault }
            defer { reported.fault = fault }
            return reported.fault
        }
        if let fault, before == nil {
            say("events cannot be held for consent: \(fault); those of unknown subjects are denied, and counted as 'unstored'")
        } else if fault == nil, let before, before.kind != .removed {
            say("events are held for consent again")
        }
    }

    // MARK: - Storing

    /// Stores the events of a block that must be held. Call it in turn. Returns the events that cannot be held, by index, each with the
    /// reason.
    public func take(_ held: borrowing HeldEvents, _ generation: Generation, source: Int, key: Int) -> [(event: Int, Denial)] {
        var rows: [HeldRow] = []
        var bodies: [UnsafeRawBufferPointer] = []
        for index in 0..<held.count {
            rows.append(row(of: index, held, generation: generation, source: sources[source], key: key))
            bodies.append(held.body(index))
        }
        let fits = heldIndex.withLock { heldIndex in rows.map { heldIndex.take($0) } }
        let taken = rows.indices.filter { fits[$0] }
        var denied: [(event: Int, Denial)] = rows.indices.filter { !fits[$0] }.map { ($0, .full) }
        if !denied.isEmpty { sayFull() }
        let isStored = store(taken.map { rows[$0] }, taken.map { bodies[$0] })
        assert(denied.count + taken.count == held.count, "a held event is neither stored nor denied")
        heldIndex.withLock { heldIndex in
            for index in taken { heldIndex.came(rows[index], isStored: isStored) }
        }
        if !isStored { denied += taken.map { ($0, .unstored) } }
        // Thread A judges the block; then thread B records the answer of a subject and finds no event of it here; then thread A stores the
        // event. So subjects that are known by now are asked for again. Later answers find the events.
        let known = Set(taken.flatMap { rows[$0].subjects }.filter(records.knows))
        // If no event waited before, the thread that takes the steps must learn when the first one expires.
        if heldIndex.withLock({ $0.ask(known) || !taken.isEmpty && $0.total.events == taken.count }) { heldIndex.wake() }
        return denied
    }

    private func row(of index: Int, _ held: borrowing HeldEvents, generation: Generation, source: SourcePlan, key: Int) -> HeldRow {
        let given = held.idLength(index)
        assert((0...held.body(index).count).contains(given), "the id of a held event is longer than its body")
        var row = HeldRow(
            arrival: held.arrival(index), bytes: held.body(index).count - given, subjects: Array(held.subjects(index)),
            routes: held.routes(index).map { generation.routes[$0] }, source: source.name)
        row.given = given
        row.key = key == 0 ? nil : source.http?.keys[key - 1].name
        let level = held.level(index)
        row.level = level == 0 ? nil : generation.plan.consent?.levels[level].name
        return row
    }

    /// Stores rows. Returns false if that fails, or if it failed less than a second ago.
    private func store(_ rows: [HeldRow], _ bodies: [UnsafeRawBufferPointer]) -> Bool {
        if rows.isEmpty { return true }
        if status.gone != nil { return false }
        let now = clock.now()
        guard storage.withLock({ $0.again.map { now >= $0 } ?? true }) else { return false }
        do throws(StorageFault) {
            try use { (file) throws(StorageFault) in try file.add(rows) { bodies[$0] } }
            storage.withLock { $0.again = nil }
            note(nil)
            return true
        } catch {
            storage.withLock { $0.again = now + .seconds(1) }
            note(error)
            return false
        }
    }

    private func sayFull() {
        let isFirst = reported.withLock { reported in
            defer { reported.isFull = true }
            return !reported.isFull
        }
        if isFirst { say("no more events can be held for consent than consent.hold allows; others are denied, and counted as 'full'") }
    }

    // MARK: - Answers

    /// Schedules the release of events whose subjects have new records. An empty list means all subjects.
    private func heard(_ changes: [LedgerChange]) {
        if changes.isEmpty { return askAll() }
        if heldIndex.withLock({ $0.ask(changes.lazy.map { SubjectKey($0.short) }) }) { heldIndex.wake() }
    }

    func askAll() {
        let isNew = heldIndex.withLock { heldIndex in heldIndex.ask(heldIndex.subjects(where: records.knows)) }
        if isNew { heldIndex.wake() }
    }

    /// Takes over the events that an earlier run left in the file.
    public func resume() {
        do throws(StorageFault) {
            guard let file = try open(makes: false) else { return }
            var rows: [HeldRow] = []
            try file.readAll { rows.append($0) }
            storage.withLock { $0.file = file }
            heldIndex.withLock { heldIndex in for row in rows { heldIndex.add(row) } }
            totals.withLock { totals in for row in rows { totals.resume(held: row.routes) } }
            askAll()
        } catch {
            note(error)
        }
    }

    // MARK: - The audit trail

    /// Notes what became of events. Call it after they were destroyed, or before they are handed over.
    func tell(_ verdicts: HeldVerdicts) { for block in verdicts.blocks { audit?.note(block) } }

    /// Settles the receipt of a hand-over after the audit trail has what was noted so far, so that no event leaves the file before.
    func settleWhenTold(_ receipt: Receipt) {
        guard let audit, audit.isBehind else { return receipt.settle() }
        untold.withLock { $0 += 1 }
        audit.whenSafe { [untold] in
            receipt.settle()
            untold.withLock { $0 -= 1 }
            untold.wake()
        }
    }

    /// Waits for the audit trail. If it cannot be written, the events stay in the file, and the next run judges them again.
    private func waitForAudit() {
        guard let audit, (try? audit.flush()) != nil else { return }
        untold.waitUntilReady { $0 == 0 ? .ready(()) : .notBefore(nil) }
    }

    // MARK: - The end

    /// Ends the thread after the events of subjects that have answered are released, or at once if `hurried` is true. No event comes in
    /// after this call.
    public func end(hurried: Bool) {
        heldIndex.withLock { $0.end(hurried: hurried) }
        heldIndex.wake()
    }

    /// Closes the file. The lanes and the thread must have ended before.
    public func close() {
        waitForAudit()
        let change = heldIndex.withLock { $0.takeDue() }
        do throws(StorageFault) {
            if !change.isEmpty { try commit(change) }
        } catch {
            note(error)
        }
        let isLeft = reported.withLock { $0.isLeft }
        storage.withLock { storage in
            if isLeft { storage.file?.closeKeepingLog() } else { storage.file?.close() }
            storage.file = nil
            storage.isClosed = true
        }
        let left = status.events
        guard left > 0 else { return }
        let end = status.gone == nil ? "held for consent" : "lost with the file in which they waited for consent, unless it was only moved"
        say("\(grouped(left)) \(left == 1 ? "event is" : "events are") \(end)")
    }
}
