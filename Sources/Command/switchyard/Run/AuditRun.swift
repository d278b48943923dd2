// The audit trail of a run: it is opened before the ledger and closed after everything else, its heads are published, and old entries are
// deleted when their time is over.

internal import Audit
internal import InspectCommands
internal import Judging
internal import Ledger
internal import MerkleLog
internal import Plans
internal import Platform
internal import Router
internal import Startup
internal import StateFiles
internal import Terminal

struct AuditRun: Sendable {
    let log: AuditLog
    private let publisher: HeadPublisher?
    private let isOver = Monitor(false)
    private let folder: String
    /// The damaged copies that the trail has.
    private let setAside: [String]

    /// How often it is looked for old entries.
    private static let day = Duration.seconds(86_400)

    /// Opens the trail. Returns nil if the plan has none. A trail that is damaged, or that was cut off, stops the start.
    init?(_ plan: Plan, in folder: String, say: @escaping @Sendable (String) -> Void) throws {
        let names = Tally.columns.map(\.key)
        guard let audit = plan.audit, let log = try AuditLog.open(plan, in: folder, verdictNames: names, say: say) else { return nil }
        self.log = log
        self.folder = folder
        setAside = SetAsideFiles(in: folder).names
        var settings = HeadPublisher.Settings()
        settings.file = audit.heads.file
        settings.command = audit.heads.command
        settings.every = audit.heads.every
        settings.witnesses = audit.heads.witnesses.compactMap { NoteKey($0) }
        let isPublished = settings.file != nil || !settings.command.isEmpty
        publisher = isPublished ? HeadPublisher(log.files, keys: log.keys, settings, clock: .system, say: say) : nil
        do throws(StorageFault) {
            try publisher?.checkFile()
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Compares the trail with the ledger, notes the start and the plan, and begins to write.
    func begin(_ plan: Plan, file: String, _ registry: Registry?, say: @escaping @Sendable (String) -> Void) throws {
        do throws(StorageFault) {
            let position = try registry?.use { (file) throws(StorageFault) in (file.position, []) } ?? nil
            var beginning = AuditLog.Beginning(plan, isBrief: false)
            beginning.setAside = setAside
            try log.begin(beginning, ledger: position) { (time) throws(StorageFault) in
                try registry?.use { (file) throws(StorageFault) in (try file.acts(after: time), []) } ?? []
            }
        } catch {
            throw StateFailure(error.description)
        }
        if let text = plan.text { log.note(plan: text.bytes, hash: text.hash, file: file) }
        log.start()
        publisher?.start()
        guard let retention = plan.audit?.retention else { return }
        Thread.start("audit pruning") { [self] in prune(retention, say) }.detach()
    }

    private func prune(_ retention: Duration, _ say: @escaping @Sendable (String) -> Void) {
        while true {
            do throws(StorageFault) {
                try log.prune(before: log.now - retention.nanoseconds)
            } catch {
                say("old entries of the audit trail could not be deleted: \(error)")
            }
            let next = Clock.system.now() + AuditRun.day
            let ends = isOver.waitUntilReady { isOver -> Readiness<Bool> in
                isOver ? .ready(true) : Clock.system.now() >= next ? .ready(false) : .notBefore(next)
            }
            if ends { return }
        }
    }

    /// Writes what is left. Returns false if something could not be written.
    func close() -> Bool {
        isOver.withLock { $0 = true }
        isOver.wake()
        // After a kill, the next start has them.
        for name in SetAsideFiles(in: folder).names where !setAside.contains(name) {
            log.note(.damage("\(name): was set aside as damaged", at: log.now))
        }
        let fault = log.close()
        publisher?.end()
        if let fault { Console.say("the end of the audit trail could not be written: \(fault)") }
        return fault == nil
    }
}
