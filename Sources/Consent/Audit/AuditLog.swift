// Takes the entries of a running process and writes them to the trail, in the order in which they came, with a thread of its own. Nobody waits
// for the disk who need not: what must not be acknowledged before its entry is on disk waits with `whenSafe` or `flush`. Entries that cannot
// be written stay in memory and are tried again; after a kill, those about consent are made up for from the ledger at the next start.

public import Ledger
internal import MerkleLog
public import Platform

public final class AuditLog: Sendable {
    public struct Options: Sendable {
        public var clock = Clock.system
        public var syncs = true
        /// The words for the verdicts, in the order of their numbers.
        public var verdictNames: [String] = []
        /// How long verdicts wait for others, so that fewer heads are signed.
        public var gathering = Duration.milliseconds(50)
        /// The pause before a failed append is tried again.
        public var pause = Duration.seconds(1)
        /// How long the sender of verdicts waits while too many wait for the disk. Then its verdicts are given up and noted as lost.
        public var patience = Duration.seconds(10)
        /// Gets messages for the operator.
        public var say: @Sendable (String) -> Void = { _ in }
        public init() {}
    }

    /// The state that other threads see.
    fileprivate struct State {
        /// The entries that wait, by note. A note is in the trail as a whole or not at all, so that a write of the ledger that is made up for
        /// later is in it once.
        var notes: [[AuditEntry]] = []
        var entryCount = 0
        var verdicts: [VerdictBlock] = []
        var verdictBytes = 0
        /// Called after everything that was noted before is on disk.
        var waiting: [@Sendable () -> Void] = []
        /// The numbers of notes that came, and of those that are on disk.
        var noted = 0
        var written = 0
        /// The number of the note that somebody waits for without delay.
        var urgent = 0
        var plan: String?
        /// The position of the ledger after everything that was noted.
        var ledger: LedgerPosition?
        /// The position of the ledger after everything that was taken for an append. It is behind `ledger` while notes wait.
        var takenLedger: LedgerPosition?
        /// The verdicts that were given up.
        var lost = (events: 0, blocks: 0)
        var fault: StorageFault?
        var isEnding = false
        var hasEnded = false

        var isIdle: Bool { notes.isEmpty && verdicts.isEmpty && waiting.isEmpty && lost.blocks == 0 }
    }

    /// What one append takes.
    private struct Group {
        var notes: [[AuditEntry]]
        var verdicts: [VerdictBlock]
        var waiting: [@Sendable () -> Void]
        var noted: Int
        var plan: String?
        var ledger: LedgerPosition?
        /// True if the attempt began after `close`.
        var isLast: Bool
    }

    /// The thread's own.
    private struct Writing: ~Copyable {
        var trail: Trail
        var rows: VerdictWriter
    }

    public let keys: AuditKeys
    public let files: TrailFiles
    private let options: Options
    private let state = Monitor(State())
    private let writing: Monitor<Writing>

    /// The most bytes of rows that wait. A full disk or a slow one makes the senders of more wait.
    private static let mostVerdictBytes = 32 << 20
    private static let mostEntries = 20_000
    /// An append takes notes until it has this number of entries, and this number of blocks of verdicts.
    private static let mostTaken = 1024

    /// Opens the trail in the folder, or begins one.
    public init(_ folder: String, keys: AuditKeys, options: Options) throws(StorageFault) {
        self.keys = keys
        self.options = options
        var settings = Trail.Options()
        settings.syncs = options.syncs
        let trail = try Trail(folder, keys: keys, options: settings)
        files = trail.files
        if trail.isNew { options.say("\(folder): a new audit trail begins") }
        nonisolated(unsafe) let opened = trail
        writing = Monitor(Writing(trail: opened, rows: VerdictWriter(trail.files, syncs: options.syncs)))
    }

    /// Starts the thread that writes.
    public func start() { Thread.start("audit") { self.run() }.detach() }

    // MARK: - Noting

    /// The time for entries.
    public var now: Int64 { options.clock.wall() }

    public func note(_ entry: AuditEntry) { note([entry]) }

    public func note(_ entries: [AuditEntry]) {
        let deadline = options.clock.now() + options.patience
        state.waitUntilReady { state -> Readiness<Void> in
            // A burst of decisions, such as an import, waits for the disk. On a disk that fails, they go on: a refusal must not wait for it.
            if state.entryCount >= AuditLog.mostEntries, state.fault == nil, !state.hasEnded, options.clock.now() < deadline {
                return .notBefore(deadline)
            }
            if !entries.isEmpty { state.notes.append(entries) }
            state.entryCount += entries.count
            state.noted += 1
            return .ready(())
        }
        state.wake()
    }

    /// Notes what a write of the ledger did.
    public func note(_ acts: [LedgerAct], _ position: LedgerPosition) {
        let time = now
        var made = acts.map { AuditEntry($0, at: time, keys: keys) }
        if !made.isEmpty { made[made.count - 1].ledger = position }
        if !made.isEmpty { note(made) }
        state.withLock { $0.ledger = position }
    }

    /// Notes a step of an erasure at a provider. The answer must not contain ids.
    public func note(erasure job: Int64, provider: String, step: String, receipts: [Int64], answer: String? = nil) {
        note(.erasure(job, provider: provider, step: step, receipts: receipts, answer: answer, at: now))
    }

    /// Keeps the text of a plan. Do this before the plan judges an event: its verdicts name it.
    public func keep(plan text: [UInt8], hash: String) throws(StorageFault) {
        let kept = try AuditLog.keep(text, files, syncs: options.syncs)
        precondition(kept == hash, "a plan has the hash of another text")
    }

    /// From now on, entries name this plan, whose text is kept.
    public func adopt(plan text: [UInt8], hash: String) throws(StorageFault) {
        try keep(plan: text, hash: hash)
        state.withLock { $0.plan = hash }
    }

    /// Notes the verdicts of a block. Waits while too many others wait for the disk.
    public func note(_ block: VerdictBlock) {
        let deadline = options.clock.now() + options.patience
        let wasIdle = state.waitUntilReady { state -> Readiness<Bool> in
            let wasIdle = state.isIdle
            if state.verdictBytes + block.rows.count > AuditLog.mostVerdictBytes, state.verdictBytes > 0 {
                if !state.isEnding, options.clock.now() < deadline { return .notBefore(deadline) }
                state.lost.events += block.events
                state.lost.blocks += 1
            } else {
                if let last = state.verdicts.indices.last, state.verdicts[last].isSameKind(as: block) {
                    state.verdicts[last].add(block)
                } else {
                    state.verdicts.append(block)
                }
                state.verdictBytes += block.rows.count
            }
            state.noted += 1
            return .ready(wasIdle)
        }
        // If something waited before, the thread that writes waits only until a time, and then takes this too. Waking it for each block would
        // cost the sender more than the rest of this call.
        if wasIdle { state.wake() }
    }

    // MARK: - Waiting

    /// True if something that was noted is not on disk yet.
    public var isBehind: Bool { state.withLock { $0.written < $0.noted } }

    /// Calls the body when everything that was noted so far is on disk. It may be called by the thread that writes.
    public func whenSafe(_ body: @escaping @Sendable () -> Void) {
        let isSafe = state.withLock { state in
            if state.written >= state.noted { return true }
            state.waiting.append(body)
            return false
        }
        if isSafe { body() } else { state.wake() }
    }

    /// Waits until everything that was noted so far is on disk. Throws if it cannot be written now.
    public func flush() throws(StorageFault) {
        let wanted = state.withLock { state in
            state.urgent = max(state.urgent, state.noted)
            return state.noted
        }
        state.wake()
        let fault = state.waitUntilReady { state -> Readiness<StorageFault?> in
            if state.written >= wanted { return .ready(nil) }
            if let fault = state.fault { return .ready(fault) }
            return state.hasEnded ? .ready(StorageFault(.failed, "\(files.folder): the audit trail was closed")) : .notBefore(nil)
        }
        if let fault { throw fault }
    }

    /// The reason why nothing can be written at present. It is nil if all is well.
    public var fault: StorageFault? { state.withLock { $0.fault } }

    /// Writes what is left, and ends the thread. Returns the fault if something could not be written.
    public func close() -> StorageFault? {
        state.withLock { $0.isEnding = true }
        state.wake()
        return state.waitUntilReady { $0.hasEnded ? .ready($0.fault) : .notBefore(nil) }
    }

    // MARK: - The thread

    private func run() {
        var last = options.clock.now() + .seconds(-3600)
        while let group = next(after: last) {
            last = options.clock.now()
            do throws(StorageFault) {
                try write(group)
                settle(group)
            } catch {
                putBack(group, error)
            }
        }
        state.withLock { $0.hasEnded = true }
        state.wake()
    }

    /// Waits for something to write. Returns nil at the end.
    private func next(after last: Instant) -> Group? {
        state.waitUntilReady { state -> Readiness<Group?> in
            if state.isIdle { return state.isEnding ? .ready(nil) : .notBefore(nil) }
            let now = options.clock.now()
            if !state.isEnding {
                if state.fault != nil, now < last + options.pause { return .notBefore(last + options.pause) }
                // Verdicts alone are gathered for a moment.
                let isUrgent = !state.notes.isEmpty || state.urgent > state.written
                if !isUrgent, now < last + options.gathering { return .notBefore(last + options.gathering) }
            }
            var notes = state.takeNotes(AuditLog.mostTaken)
            // The rest goes with the next append, so what waits for it waits too.
            let isAll = state.notes.isEmpty
            if isAll { state.takenLedger = state.ledger }
            let verdicts = isAll ? Array(state.verdicts.prefix(AuditLog.mostTaken)) : []
            state.verdicts.removeFirst(verdicts.count)
            let isWhole = isAll && state.verdicts.isEmpty
            state.verdictBytes -= verdicts.reduce(0) { $0 + $1.rows.count }
            if isWhole, state.lost.blocks > 0 {
                var lost = AuditEntry(.lost, at: options.clock.wall())
                lost.add("blocks", state.lost.blocks)
                lost.add("events", state.lost.events)
                notes.append([lost])
                state.lost = (0, 0)
            }
            let group = Group(
                notes: notes, verdicts: verdicts, waiting: isWhole ? state.waiting : [], noted: isWhole ? state.noted : state.written,
                plan: state.plan, ledger: state.takenLedger, isLast: state.isEnding)
            if isWhole { state.waiting = [] }
            return .ready(group)
        }
    }

    private func write(_ group: Group) throws(StorageFault) {
        try writing.withLock { (writing) throws(StorageFault) in
            let keep = { [files, syncs = options.syncs] (text: [UInt8]) throws(StorageFault) -> String in
                try AuditLog.keep(text, files, syncs: syncs)
            }
            var bytes: [[UInt8]] = []
            let entries = group.notes.joined()
            for text in entries.compactMap(\.kept) { _ = try keep(text) }
            for entry in entries { bytes.append(try entry.bytes(plan: group.plan, ledger: entry.ledger ?? group.ledger, keep: keep)) }
            for block in group.verdicts {
                let place =
                    block.rows.isEmpty
                    ? nil : try writing.rows.write(block.rows, width: block.width, entry: writing.trail.size + bytes.count)
                let entry = block.entry(options.verdictNames, place: place, at: options.clock.wall())
                bytes.append(try entry.bytes(plan: block.plan, ledger: group.ledger, keep: keep))
            }
            _ = try writing.trail.append(bytes)
        }
    }

    /// Keeps a text beside the trail under its hash, and returns the hash.
    static func keep(_ text: [UInt8], _ files: TrailFiles, syncs: Bool) throws(StorageFault) -> String {
        let hash = hex(Digest(of: text).bytes)
        let path = files.text(hash)
        try TrailFiles.makeFolder(of: path)
        if let known = try TrailFiles.read(path, most: max(text.count, 1 << 20)), known == text { return hash }
        try TrailFiles.replace(path, with: text, syncs: syncs)
        return hash
    }

    /// Notes that a plan was loaded, and names it in later entries. Its text is kept under its hash.
    public func note(plan text: [UInt8], hash: String, file: String) {
        var entry = AuditEntry.plan(hash, file: file, at: now)
        entry.kept = text
        state.withLock { $0.plan = hash }
        note(entry)
    }

    private func settle(_ group: Group) {
        let wasFailing = state.withLock { state in
            state.written = max(state.written, group.noted)
            defer { state.fault = nil }
            return state.fault != nil
        }
        state.wake()
        if wasFailing { options.say("\(files.folder): the audit trail can be written again") }
        for body in group.waiting { body() }
    }

    /// Keeps what could not be written for the next attempt. There is none after an attempt that began after `close`.
    private func putBack(_ group: Group, _ fault: StorageFault) {
        let isNews = state.withLock { state in
            state.notes = group.notes + state.notes
            state.entryCount += group.notes.reduce(0) { $0 + $1.count }
            state.verdicts = group.verdicts + state.verdicts
            state.verdictBytes += group.verdicts.reduce(0) { $0 + $1.rows.count }
            state.waiting = group.waiting + state.waiting
            defer { state.fault = fault }
            if group.isLast { state.abandon() }
            return state.fault == nil
        }
        state.wake()
        if isNews {
            options.say(
                "the audit trail cannot be written: \(fault); what must not be acknowledged without it waits, and it is tried again every second"
            )
        }
    }
}

extension AuditLog.State {
    /// Takes whole notes, until they have this number of entries or more.
    fileprivate mutating func takeNotes(_ wanted: Int) -> [[AuditEntry]] {
        var count = 0
        var taken = 0
        while taken < notes.count, count < wanted {
            count += notes[taken].count
            if let ledger = notes[taken].last?.ledger { takenLedger = ledger }
            taken += 1
        }
        defer { notes.removeFirst(taken) }
        entryCount -= count
        return Array(notes.prefix(taken))
    }

    /// Gives up what is left, at the end of the process.
    fileprivate mutating func abandon() {
        notes = []
        entryCount = 0
        verdicts = []
        waiting = []
        lost = (0, 0)
    }
}
