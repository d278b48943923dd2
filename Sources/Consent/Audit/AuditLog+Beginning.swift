// The beginning of a run: what the trail says of the ledger is compared with the ledger, and what the ledger has done without an entry is made
// up for. A ledger that is behind the trail has lost decisions that somebody was told are on record.

public import Ledger
internal import MerkleLog
public import Platform

extension AuditLog {
    /// What a run or a command is, for its first entry.
    public struct Beginning: Sendable {
        /// The program and its version.
        public var program: String
        /// The keys of the configuration, by their use.
        public var keys: [(use: String, name: String, fingerprint: String)]
        /// True if a command only adds an entry, beside a router or without one.
        public var isBrief: Bool
        /// The damaged copies of files that are in the state folder.
        public var setAside: [String] = []

        public init(program: String, keys: [(use: String, name: String, fingerprint: String)], isBrief: Bool = false) {
            self.program = program
            self.keys = keys
            self.isBrief = isBrief
        }
    }

    /// The most entries that are read to find those of the last run.
    private static let mostRead = 65_536

    /// Notes the beginning. Throws if the ledger is not the one that the trail knows, or is behind it. `late` returns what the ledger has done
    /// after a time. `ledger` is nil if none is kept.
    public func begin(
        _ beginning: Beginning, ledger: LedgerPosition?, late: (Int64) throws(StorageFault) -> [LedgerAct]
    ) throws(StorageFault) {
        let known = try lastKnown()
        if let ledger {
            if let fault = AuditLog.fault(of: ledger, known: known.ledger, files) { throw fault }
            note([], ledger)
        }
        if !beginning.isBrief {
            var start = AuditEntry(.start, at: now)
            start.add("program", beginning.program)
            start.add("key", keys.name.description)
            start.add(keys: beginning.keys)
            if !beginning.setAside.isEmpty { start.add("set_aside", beginning.setAside) }
            note(start)
            if known.hadKeys, known.keys != AuditLog.compact(beginning.keys) { note(.keys(beginning.keys, at: now)) }
        }
        guard let ledger, let before = known.ledger, ledger.commits > before.commits else { return }
        let acts = try late(before.written)
        guard !acts.isEmpty else { return }
        var recovered = AuditEntry(.recovered, at: now)
        recovered.add("commits_after", Int(before.commits))
        recovered.add("acts", acts.count)
        note([recovered] + acts.map { AuditEntry($0, at: now, keys: keys, isLate: true) })
    }

    /// Returns the fault of a ledger that does not fit the trail, or nil.
    public static func fault(of ledger: LedgerPosition, known: LedgerPosition?, _ files: TrailFiles) -> StorageFault? {
        guard let known else { return nil }
        let advice =
            "restore it from a copy; or, to go on with what it has, run: switchyard audit accept (the trail then says so for good)"
        if known.database != ledger.database {
            return StorageFault(
                .damaged,
                "the ledger is not the one that the audit trail in \(files.folder) knows: its file was removed or replaced; \(advice)")
        }
        guard known.commits <= ledger.commits else {
            return StorageFault(
                .damaged,
                "the ledger is behind the audit trail in \(files.folder): the trail knows \(AuditLog.writes(known.commits - ledger.commits)) more, "
                    + "up to \(timestamp(known.written)); \(advice)")
        }
        return nil
    }

    private static func writes(_ count: Int64) -> String { count == 1 ? "one write" : "\(grouped(Int(count))) writes" }

    /// Notes that a person accepts a ledger that is behind the trail, or is another one.
    public func accept(_ ledger: LedgerPosition, user: UInt32) throws(StorageFault) {
        let known = try lastKnown().ledger
        var entry = AuditEntry(.accepted, at: now)
        if let known {
            entry.add("before_file", known.name)
            entry.add("before_commits", Int(known.commits))
        }
        entry.add("uid", Int(user))
        entry.ledger = ledger
        note(entry)
        note([], ledger)
    }

    /// Returns the keys in the JSON in which they are read back.
    private static func compact(_ keys: [(use: String, name: String, fingerprint: String)]) -> String? {
        EntryReading(Array(#"{"keys":\#(AuditEntry.json(keys))}"#.utf8))?.json("keys")
    }

    /// What the last entries say.
    private struct Known {
        /// The last position of the ledger.
        var ledger: LedgerPosition?
        /// The keys of the last start or reload, in JSON. They are nil if there is none among the last entries.
        var keys: String?
        /// True if the trail had keys before. If they are too far back to be looked for, the present ones may be others.
        var hadKeys = false
    }

    private func lastKnown() throws(StorageFault) -> Known {
        var known = Known()
        guard let reader = try TrailReader(files, keys: keys.all) else { return known }
        known.hadKeys = reader.head.size > AuditLog.mostRead
        var index = reader.head.size - 1
        while index >= max(0, reader.head.size - AuditLog.mostRead) {
            guard let bytes = try reader.entry(index) else { break }
            let entry = EntryReading(bytes)
            if known.ledger == nil { known.ledger = entry?.ledger }
            if entry?.kind == .start || entry?.kind == .keys {
                known.keys = entry?.json("keys")
                known.hadKeys = true
                return known
            }
            index -= 1
        }
        return known
    }
}
