// Imports decisions and ties from an export of another ledger or from any list. It takes bytes in pieces of any size. It writes many valid
// lines in one transaction, and reports each invalid line with its number and the reason. A report never repeats a part of a line, because
// a line may hold a raw id.

public import ConsentGate
internal import Database
public import Platform

/// Only one thread may use it at a time.
public final class LedgerImport {
    public struct Options: Sendable {
        public var format = LedgerFormat.ndjson
        /// The time of decisions in lines without a time, in nanoseconds since 1970. If it is nil, such lines are invalid.
        public var decided: Int64?
        /// The origin of lines that do not name one.
        public var origin = "import"
        /// The number of lines in one transaction. The ids of a batch are spread over the whole index, so a small batch writes nearly as
        /// many pages as a large one. Use a small batch if others wait for the ledger.
        public var batch = 50_000
        /// Returns the reason why terms are refused, such as an unknown level, or nil if they are valid.
        public var check: @Sendable (ConsentTerms) -> String? = { _ in nil }
        public init() {}
    }

    public struct Counts: Sendable, Equatable {
        /// The number of lines that were read so far.
        public var lines = 0
        public var taken = 0
        /// The number of lines that came too late, because a later decision is on record.
        public var late = 0
        public var bad = 0
        public init() {}
    }

    static let longest = 1 << 20
    /// The size of SQLite's page cache during an import, in kilobytes.
    private static let cache = 65_536

    private let ledger: LedgerFile
    private let options: Options
    private let bad: (Int, String) -> Void
    private let changed: ([LedgerChange]) -> Void
    /// Gets the receipts of withdrawals after the transaction that recorded them.
    private let withdrew: ([Int64]) -> Void
    private let mark: String
    public private(set) var counts = Counts()
    private var waiting: [(number: Int, line: LedgerLine)] = []
    /// The first id of each person that the import names.
    private var persons: [String: LedgerID] = [:]
    private var rest: [UInt8] = []
    private var isTooLong = false
    private var number = 0
    private var records = CSVRecords()
    private var columns: [LedgerLine.Member]?
    /// True if the header is invalid. Then no line can be read.
    private var isHeaderBad = false

    /// Makes an import. It calls `bad` with the number of each invalid line and the reason. After each transaction it calls `changed` with
    /// the changes, and then `withdrew` with the receipts of its withdrawals.
    public init(
        into ledger: LedgerFile, _ options: Options = Options(), bad: @escaping (Int, String) -> Void,
        changed: @escaping ([LedgerChange]) -> Void = { _ in }, withdrew: @escaping ([Int64]) -> Void = { _ in }
    ) {
        self.ledger = ledger
        self.options = options
        self.bad = bad
        self.changed = changed
        self.withdrew = withdrew
        mark = ledger.mark.withBytes { hex($0) }
        // A large cache keeps pages that are written repeatedly. The import also works if this fails, but it is slower.
        try? ledger.database.run("PRAGMA cache_size = \(-LedgerImport.cache)")
    }

    public func take(_ bytes: UnsafeRawBufferPointer) throws(StorageFault) {
        switch options.format {
        case .ndjson: takeLines(bytes)
        case .csv: records.take(bytes, most: LedgerImport.longest) { takeRecord($0) }
        }
        while waiting.count >= options.batch { try flush(options.batch) }
    }

    /// Takes a last line without a line end, and writes the lines that wait.
    public func finish() throws(StorageFault) {
        switch options.format {
        case .ndjson: if !rest.isEmpty || isTooLong { endLine() }
        case .csv: if let record = records.finish() { takeRecord(record) }
        }
        try flush(waiting.count)
        try ledger.database.run("PRAGMA cache_size = -2048; PRAGMA shrink_memory")
    }

    // MARK: - Lines

    private func takeLines(_ bytes: UnsafeRawBufferPointer) {
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            // Each part except the first follows a line end.
            if part.offset > 0 { endLine() }
            isTooLong = isTooLong || rest.count + part.element.count > LedgerImport.longest
            if isTooLong { rest.removeAll() } else { rest.append(contentsOf: part.element) }
            assert(rest.count <= LedgerImport.longest, "a line is longer than the longest")
        }
    }

    private func endLine() {
        number += 1
        // Some editors put a byte order mark at the beginning of a file.
        if number == 1, FileBeginning.mark(rest) > 0 { rest.removeFirst(3) }
        if isTooLong {
            refuse(number, "is longer than a megabyte")
        } else if !rest.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) {
            take(number) { () throws(LineFault) in
                // The closure of withUnsafeBytes would lose the type of the error.
                try rest.withUnsafeBufferPointer { (line) throws(LineFault) in try JSONLine.members(UnsafeRawBufferPointer(line)) }
            }
        }
        rest.removeAll(keepingCapacity: true)
        isTooLong = false
    }

    private func takeRecord(_ record: CSVRecords.Record) {
        if isHeaderBad { return }
        if let fault = record.fault {
            isHeaderBad = columns == nil
            return refuse(record.line, fault)
        }
        if let columns {
            return take(record.line) { () throws(LineFault) in try CSVLine.members(record.cells, columns) }
        }
        do throws(LineFault) {
            columns = try CSVLine.columns(record.cells)
        } catch {
            isHeaderBad = true
            refuse(record.line, error.words)
        }
    }

    private func take(_ number: Int, _ members: () throws(LineFault) -> LineMembers) {
        do throws(LineFault) {
            var line = try members().line(mark: mark)
            line.decided = line.decided ?? options.decided
            guard line.terms == nil || line.decided != nil else {
                throw LineFault("decided is missing: expected the time of the decision, such as 2026-11-21T10:30:00Z")
            }
            if let words = line.terms.flatMap(options.check) { throw LineFault(words) }
            counts.lines += 1
            waiting.append((number, line))
        } catch {
            refuse(number, error.words)
        }
    }

    private func refuse(_ number: Int, _ words: String) {
        counts.lines += 1
        counts.bad += 1
        bad(number, words)
    }

    // MARK: - Writing

    private func flush(_ count: Int) throws(StorageFault) {
        assert((0...waiting.count).contains(count), "more lines are written than wait")
        var done = Counts()
        var changes: [LedgerChange] = []
        var refused: [(Int, String)] = []
        var receipts: [Int64] = []
        var draft = persons
        try ledger.write { () throws(StorageFault) in
            for (number, line) in waiting.prefix(count) {
                if let words = try write(line, persons: &draft, done: &done, changes: &changes, receipts: &receipts) {
                    refused.append((number, words))
                }
            }
        }
        persons = draft
        waiting.removeFirst(count)
        counts.taken += done.taken
        counts.late += done.late
        counts.bad += refused.count
        assert(counts.bad + waiting.count <= counts.lines, "a line was refused twice")
        for (number, words) in refused { bad(number, words) }
        if !changes.isEmpty { changed(changes) }
        if !receipts.isEmpty { withdrew(receipts) }
    }

    /// Writes a line. Returns the reason why the line is refused, or nil if it was written.
    private func write(
        _ line: LedgerLine, persons: inout [String: LedgerID], done: inout Counts, changes: inout [LedgerChange],
        receipts: inout [Int64]
    ) throws(StorageFault) -> String? {
        if case .hashed(let id) = line.id, let words = try ledger.conflict(id) { return words }
        if let terms = line.terms {
            let origin = line.origin ?? options.origin
            let isKnown = terms.isWithdrawn ? try ledger.hasReceipt(of: line.id, forWithdrawalAt: line.decided) : false
            let outcome = try ledger.set(line.id, terms, decided: line.decided, origin: origin)
            // A withdrawal destroys what waits. The same one again needs no second receipt.
            if outcome.holds, terms.isWithdrawn, !isKnown {
                receipts.append(try ledger.beginReceipt(of: line.id, origin: origin))
            }
            if outcome.holds { done.taken += 1 } else { done.late += 1 }
            changes += outcome.changes
        }
        guard let person = line.person else { return nil }
        if let other = persons[person] {
            switch try ledger.tie([other, line.id]) {
            case .tied(let more): changes += more
            case .refused(let words): return words
            }
        } else {
            persons[person] = line.id
        }
        if line.terms == nil { done.taken += 1 }
        return nil
    }
}

extension LedgerFile {
    /// Returns the reason why a hashed id is refused, or nil. It is refused if another id has its short hash or its HMAC.
    func conflict(_ id: HashedID) throws(StorageFault) -> String? {
        let find = try database.statement(
            """
            SELECT short, hmac, keys.name FROM subjects JOIN keys ON keys.number = key
            WHERE (hmac = ?1 OR short = ?2) AND \(LedgerSchema.subjectIsWhole) AND \(LedgerSchema.keyIsWhole)
            """)
        defer { find.reset() }
        return try id.short.withBytes { (short) throws(StorageFault) in
            try id.hmac.withUnsafeBufferPointer { (hmac) throws(StorageFault) in
                find.bind(1, lending: UnsafeRawBufferPointer(hmac)).bind(2, lending: short)
                while try find.step() {
                    let isSame = ShortHash(find.bytes(0)) == id.short
                    if !isSame || find.text(2) == id.key && !find.bytes(1).elementsEqual(id.hmac) {
                        return "hmac and short belong to two different ids of the ledger"
                    }
                }
                return nil
            }
        }
    }
}
