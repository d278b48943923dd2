// Exports the ledger, so that another ledger can import it: every id with the decision that holds for it, or with each of its decisions. An
// export never has a raw id, because the ledger has none.

internal import ConsentGate
internal import Database
internal import Events
public import Platform

extension LedgerFile {
    public struct ExportOptions: Sendable {
        public var format = LedgerFormat.ndjson
        /// True if each decision gets a line, instead of only the decision that holds.
        public var hasHistory = false
        /// The number after which the export begins: 0, or the result of the previous export.
        public var after: Int64 = 0
        /// The maximum number of ids.
        public var most = Int.max
        public init() {}
    }

    /// Calls `write` with the text in pieces of about 64 kB. The export does not contain what is written while it runs. Returns the number
    /// to continue after, or nil after the last id.
    @discardableResult
    public func export(
        _ options: ExportOptions = ExportOptions(), to write: (UnsafeRawBufferPointer) -> Void
    ) throws(StorageFault) -> Int64? {
        try LedgerFile.advised { () throws(StorageFault) in
            var out = ExportText(options.format, mark: mark.withBytes { hex($0) }, isBeginning: options.after == 0)
            let all = try database.statement(
                """
                SELECT subjects.number, hmac, key, short, terms, decided, person, received, origins.name
                FROM subjects LEFT JOIN origins ON origins.number = origin
                WHERE subjects.number > ?1 AND \(LedgerSchema.subjectIsWhole) ORDER BY subjects.number LIMIT ?2
                """
            ).bind(1, options.after).bind(2, options.most)
            defer { all.reset() }
            var count = 0
            var last: Int64?
            while try all.step() {
                let row = try subject(all)
                count += 1
                last = row.number
                var records: [ConsentRecord?] = [nil]
                if options.hasHistory, row.terms != nil {
                    records = try history(of: row).map(\.record)
                } else if let terms = row.terms {
                    let terms = try names.terms(terms, in: database)
                    records = [ConsentRecord(terms: terms, decided: row.decided, received: all.int(7), origin: all.text(8))]
                }
                for record in records { out.add(row.id, person: row.person, record) }
                out.flush(atLeast: 1 << 16, to: write)
            }
            out.flush(atLeast: 1, to: write)
            return count == options.most ? last : nil
        }
    }
}

private struct ExportText: ~Copyable {
    private let format: LedgerFormat
    private let mark: String
    private var out = ByteBuffer()

    /// All members except the raw id.
    private static let columns = LedgerLine.Member.allCases.filter { $0 != .id }

    init(_ format: LedgerFormat, mark: String, isBeginning: Bool) {
        self.format = format
        self.mark = mark
        if format == .csv, isBeginning { out.append(ExportText.columns.map(\.rawValue).joined(separator: ",") + "\r\n") }
    }

    mutating func add(_ id: HashedID, person: Int64?, _ record: ConsentRecord?) {
        assert(id.hmac.count == 32 && !id.key.isEmpty, "an import would refuse the id")
        let terms = record?.terms
        var texts: [LedgerLine.Member: String] = [
            .hmac: hex(id.hmac), .key: id.key, .short: id.short.withBytes { hex($0) }, .mark: mark,
        ]
        texts[.person] = person.map { String($0) }
        texts[.level] = terms?.level
        texts[.version] = terms?.version
        texts[.decided] = record.map { time($0.decided) }
        texts[.received] = record.map { time($0.received) }
        texts[.origin] = record?.origin
        switch format {
        case .ndjson: addJSON(texts, terms)
        case .csv: addCSV(texts, terms)
        }
    }

    private mutating func addJSON(_ texts: [LedgerLine.Member: String], _ terms: ConsentTerms?) {
        var mark = "{"
        for member in ExportText.columns {
            let value: String? =
                switch member {
                case .withdrawn: terms?.isWithdrawn == true ? "true" : nil
                case .granted: terms.flatMap { $0.isWithdrawn ? nil : "[" + $0.granted.map(jsonQuoted).joined(separator: ",") + "]" }
                case .denied: terms.flatMap { $0.denied.isEmpty ? nil : jsonList($0.denied) }
                case .person: texts[.person]
                default: texts[member].map(jsonQuoted)
                }
            guard let value else { continue }
            out.append("\(mark)\"\(member.rawValue)\":\(value)")
            mark = ","
        }
        out.append("}\n")
    }

    private mutating func addCSV(_ texts: [LedgerLine.Member: String], _ terms: ConsentTerms?) {
        let cells = ExportText.columns.map { member in
            switch member {
            case .withdrawn: terms?.isWithdrawn == true ? "true" : ""
            // An empty cell states nothing; an empty list states that nothing was granted.
            case .granted: terms == ConsentTerms() ? "[]" : csvCell(csvList(terms?.granted ?? []))
            case .denied: csvCell(csvList(terms?.denied ?? []))
            default: csvCell(texts[member] ?? "")
            }
        }
        out.append(cells.joined(separator: ",") + "\r\n")
    }

    private func time(_ time: Int64) -> String {
        var text = ByteBuffer()
        Times.write(time, into: &text)
        return String(decoding: text.bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    mutating func flush(atLeast size: Int, to write: (UnsafeRawBufferPointer) -> Void) {
        guard out.count >= size else { return }
        write(UnsafeRawBufferPointer(out.bytes))
        out.removeAll()
    }
}
