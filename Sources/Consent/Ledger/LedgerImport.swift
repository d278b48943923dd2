// Takes in what another ledger, or anyone's list, says of ids. Bytes in, in pieces of any size; good lines are written many at a
// time, and each bad one is told with its number and what was expected. No word of a line is repeated: it may hold a raw id.

public import ConsentGate
internal import Database
public import Platform

/// Used by one thread at a time.
public final class LedgerImport {
    public struct Options: Sendable {
        public var format = LedgerFormat.ndjson
        /// When lines were decided that do not say so, in nanoseconds since 1970; nil: such lines are bad.
        public var decided: Int64?
        /// From where lines are that do not say so.
        public var origin = "import"
        /// How many lines go into one transaction. Ids lie at random in their indexes, so that a small batch writes nearly as many
        /// pages as a large one; who has others waiting for the ledger takes a small one all the same.
        public var batch = 50_000
        /// Why what was said cannot be taken, such as a level that is not known; nil: it can.
        public var check: @Sendable (ConsentTerms) -> String? = { _ in nil }
        public init() {}
    }

    public struct Counts: Sendable, Equatable {
        /// Those that were read so far, and what became of them.
        public var lines = 0
        public var taken = 0
        /// Came too late: a later decision was on record.
        public var late = 0
        public var bad = 0
        public init() {}
    }

    static let longest = 1 << 20
    /// In kilobytes.
    private static let cache = 65_536

    private let ledger: LedgerFile
    private let options: Options
    private let bad: (Int, String) -> Void
    private let changed: ([LedgerChange]) -> Void
    private let mark: String
    public private(set) var counts = Counts()
    private var waiting: [(number: Int, line: LedgerLine)] = []
    /// The first id of each person that the text names.
    private var persons: [String: LedgerID] = [:]
    private var rest: [UInt8] = []
    private var isTooLong = false
    private var number = 0
    private var records = CSVRecords()
    private var columns: [LedgerLine.Member]?
    /// No line can be read without its header.
    private var isHeaderBad = false

    /// `bad` is told the number of a line and why it was not taken; `changed` what holds from now on, after each transaction.
    public init(
        into ledger: LedgerFile, _ options: Options = Options(), bad: @escaping (Int, String) -> Void,
        changed: @escaping ([LedgerChange]) -> Void = { _ in }
    ) {
        self.ledger = ledger
        self.options = options
        self.bad = bad
        self.changed = changed
        mark = ledger.mark.withBytes { hex($0) }
        // Pages that are written again and again stay at hand; without room for them it only takes longer.
        try? ledger.database.run("PRAGMA cache_size = \(-LedgerImport.cache)")
    }

    public func take(_ bytes: UnsafeRawBufferPointer) throws(StorageFault) {
        switch options.format {
        case .ndjson: takeLines(bytes)
        case .csv: records.take(bytes, most: LedgerImport.longest) { takeRecord($0) }
        }
        while waiting.count >= options.batch { try flush(options.batch) }
    }

    /// Takes the last line, and writes what waits.
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
            // Every part but the first stands behind a line end.
            if part.offset > 0 { endLine() }
            isTooLong = isTooLong || rest.count + part.element.count > LedgerImport.longest
            if isTooLong { rest.removeAll() } else { rest.append(contentsOf: part.element) }
        }
    }

    private func endLine() {
        number += 1
        // Some editors begin a file with a byte order mark.
        if number == 1, FileBeginning.mark(rest) > 0 { rest.removeFirst(3) }
        if isTooLong {
            refuse(number, "is longer than a megabyte")
        } else if !rest.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) {
            take(number) { () throws(LineFault) in
                // Not within the closure of withUnsafeBytes, which would lose the type of the fault.
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
                throw LineFault("decided is missing: expected when the person said so, such as 2026-11-21T10:30:00Z")
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
        var done = Counts()
        var changes: [LedgerChange] = []
        var refused: [(Int, String)] = []
        var draft = persons
        try ledger.write { () throws(StorageFault) in
            for (number, line) in waiting.prefix(count) {
                if let words = try write(line, &draft, &done, &changes) { refused.append((number, words)) }
            }
        }
        persons = draft
        waiting.removeFirst(count)
        counts.taken += done.taken
        counts.late += done.late
        counts.bad += refused.count
        for (number, words) in refused { bad(number, words) }
        if !changes.isEmpty { changed(changes) }
    }

    /// Why the line cannot be taken; nil: it was.
    private func write(
        _ line: LedgerLine, _ persons: inout [String: LedgerID], _ done: inout Counts, _ changes: inout [LedgerChange]
    ) throws(StorageFault) -> String? {
        if case .hashed(let id) = line.id, let words = try ledger.conflict(id) { return words }
        if let terms = line.terms {
            let outcome = try ledger.set(line.id, terms, decided: line.decided, origin: line.origin ?? options.origin)
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
    /// Why a hashed id cannot be written: another id has its short hash or its long one.
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
