// Receipts of withdrawals. A receipt begins before anything is destroyed, so that destruction continues after the process was killed. It is
// finished when nothing is left to destroy. It counts the destroyed events by place; it keeps no event.

internal import ConsentGate
internal import Database
public import Platform

public struct WithdrawalReceipt: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// The place, such as `queue of NAME`, `dead letters` or `held events`.
        public var place: String
        public var at: Int64
        public var events: Int
        public var bytes: Int
        /// The number of events that a provider was processing when the withdrawal was acknowledged.
        public var inHands: Int

        public init(place: String, at: Int64, events: Int, bytes: Int = 0, inHands: Int = 0) {
            self.place = place
            self.at = at
            self.events = events
            self.bytes = bytes
            self.inHands = inHands
        }
    }
    public var number: Int64
    /// The HMAC-SHA-256 of the id, and the name of the key that made it.
    public var hmac: [UInt8]
    public var key: String
    /// The short hashes of the id and of the ids that were tied to it. Their events are destroyed.
    public var subjects: [ShortHash]
    /// The withdrawn purposes. It is nil if everything was withdrawn.
    public var purposes: [String]?
    public var origin: String
    public var begun: Int64
    /// The time when the destruction was finished. It is nil if it is not finished.
    public var finished: Int64?
    public var lines: [Line]
}

extension LedgerFile {
    /// Begins a receipt for an id and returns its number. Call it inside the `write` of the withdrawal.
    public func beginReceipt(of id: LedgerID, purposes: [String]? = nil, origin: String) throws(StorageFault) -> Int64 {
        try write { () throws(StorageFault) in
            let hashed = hashed(id)
            // A withdrawal of everything was kept with its decision.
            if let purposes, let row = try row(of: id), row.terms != nil { keep(row.id, purposes: purposes, decided: row.decided) }
            let shorts = try person(of: id).flatMap { $0.withBytes { Array($0) } }
            assert(!shorts.isEmpty && shorts.count % 16 == 0, "a receipt names no whole subject")
            let insert = try database.statement(
                "INSERT INTO receipts (hmac, key, shorts, purposes, origin, begun) VALUES (?1,?2,?3,iif(?4, ?5, NULL),?6,?7)")
            insert.bind(2, try names.key(hashed.key, in: database)).bind(4, purposes == nil ? 0 : 1).bind(5, jsonList(purposes ?? []))
            insert.bind(6, origin).bind(7, now)
            try hashed.hmac.withUnsafeBufferPointer { (hmac) throws(StorageFault) in
                try shorts.withUnsafeBufferPointer { (shorts) throws(StorageFault) in
                    try insert.bind(1, lending: UnsafeRawBufferPointer(hmac)).bind(3, lending: UnsafeRawBufferPointer(shorts)).run()
                }
            }
            let number = try database.number("SELECT last_insert_rowid()") ?? 0
            acts.append(.withdrawn(receipt: number, try person(of: id), purposes: purposes, origin: origin))
            return number
        }
    }

    /// Returns true if the id has withdrawn everything with a decision of this time, and a receipt was begun for that withdrawal. Events of a
    /// source that may only refuse, for example, withdraw without a receipt.
    func hasReceipt(of id: LedgerID, forWithdrawalAt decided: Int64?) throws(StorageFault) -> Bool {
        guard let decided, let known = try lastDecision(of: id), known.terms.isWithdrawn, known.decided == decided else { return false }
        let find = try database.statement(
            """
            SELECT 1 FROM receipts WHERE hmac = ?1 AND purposes IS NULL AND \(LedgerSchema.receiptIsWhole) AND begun >= (
              SELECT min(history.received) FROM history JOIN subjects ON subjects.number = subject
              WHERE subjects.hmac = ?1 AND history.decided = ?2 AND held = 1
            )
            """
        ).bind(2, decided)
        defer { find.reset() }
        return try hashed(id).hmac.withUnsafeBufferPointer { (hmac) throws(StorageFault) in
            try find.bind(1, lending: UnsafeRawBufferPointer(hmac)).step()
        }
    }

    public func add(_ line: WithdrawalReceipt.Line, to receipt: Int64) throws(StorageFault) {
        assert(line.events >= 0 && line.bytes >= 0 && line.inHands >= 0, "a negative number of events was destroyed")
        assert(!line.place.isEmpty, "a line of a receipt names no place")
        try write { () throws(StorageFault) in
            try database.statement(
                """
                INSERT INTO receipt_lines (receipt, number, place, at, events, bytes, in_hands)
                SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6
                FROM receipt_lines WHERE receipt = ?1
                """
            ).bind(1, receipt).bind(2, line.place).bind(3, line.at).bind(4, line.events).bind(5, line.bytes).bind(6, line.inHands).run()
            acts.append(.destroyed(receipt: receipt, line))
        }
    }

    /// Notes that nothing is left to destroy. A receipt that began under a clock that was ahead then begins no later than it ends, so that it
    /// does not refuse what comes in from now on.
    public func finishReceipt(_ receipt: Int64) throws(StorageFault) {
        try write { () throws(StorageFault) in
            try database.statement("UPDATE receipts SET finished = ?2, begun = min(begun, ?2) WHERE number = ?1")
                .bind(1, receipt).bind(2, now).run()
            acts.append(.finished(receipt: receipt))
        }
    }

    /// Returns the receipts whose destruction is not finished.
    public func unfinishedReceipts() throws(StorageFault) -> [WithdrawalReceipt] {
        try receipts(try database.statement("\(LedgerFile.columns) AND finished IS NULL ORDER BY receipts.number"))
    }

    /// Returns the receipts after the given number, in order.
    public func receipts(after number: Int64 = 0, most: Int = 500) throws(StorageFault) -> [WithdrawalReceipt] {
        try receipts(
            try database.statement("\(LedgerFile.columns) AND receipts.number > ?1 ORDER BY receipts.number LIMIT ?2")
                .bind(1, number).bind(2, most))
    }

    /// Returns all receipts of an id, under any of the configured keys.
    public func receipts(of id: LedgerID) throws(StorageFault) -> [WithdrawalReceipt] {
        let hmacs: [[UInt8]] =
            switch id {
            case .raw(let raw): options.keys.all.map { $0.hmac(raw) }
            case .hashed(let id): [id.hmac]
            }
        var found: [WithdrawalReceipt] = []
        for hmac in hmacs {
            let find = try database.statement("\(LedgerFile.columns) AND hmac = ?1 ORDER BY receipts.number")
            found += try hmac.withUnsafeBufferPointer { (hmac) throws(StorageFault) in
                try receipts(find.bind(1, lending: UnsafeRawBufferPointer(hmac)))
            }
        }
        return found.sorted { $0.number < $1.number }
    }

    private static let columns = """
        SELECT receipts.number, hmac, keys.name, shorts, purposes, origin, begun, finished
        FROM receipts JOIN keys ON keys.number = key WHERE \(LedgerSchema.receiptIsWhole) AND \(LedgerSchema.keyIsWhole)
        """

    private func receipts(_ find: Statement) throws(StorageFault) -> [WithdrawalReceipt] {
        try LedgerFile.advised { () throws(StorageFault) in
            defer { find.reset() }
            var receipts: [WithdrawalReceipt] = []
            while try find.step() {
                let bytes = find.bytes(3)
                let shorts = stride(from: 0, to: bytes.count, by: 16).compactMap {
                    ShortHash(UnsafeRawBufferPointer(rebasing: bytes[$0..<min($0 + 16, bytes.count)]))
                }
                // If the list is cut off, the events of its other subjects would not be destroyed.
                guard shorts.count * 16 == bytes.count else {
                    throw StorageFault(.damaged, "\(path): receipt \(find.int(0)) is invalid")
                }
                receipts.append(
                    WithdrawalReceipt(
                        number: find.int(0), hmac: [UInt8](find.bytes(1)), key: find.text(2), subjects: shorts,
                        purposes: find.isNull(4) ? nil : stringList(find.text(4)), origin: find.text(5), begun: find.int(6),
                        finished: find.isNull(7) ? nil : find.int(7), lines: try lines(of: find.int(0))))
            }
            return receipts
        }
    }

    private func lines(of receipt: Int64) throws(StorageFault) -> [WithdrawalReceipt.Line] {
        let find = try database.statement(
            """
            SELECT place, at, events, bytes, in_hands FROM receipt_lines
            WHERE receipt = ?1 AND \(LedgerSchema.lineIsWhole) ORDER BY number
            """
        ).bind(1, receipt)
        defer { find.reset() }
        var lines: [WithdrawalReceipt.Line] = []
        while try find.step() {
            lines.append(
                WithdrawalReceipt.Line(
                    place: find.text(0), at: find.int(1), events: Int(find.int(2)), bytes: Int(find.int(3)), inHands: Int(find.int(4))))
        }
        return lines
    }
}
