// The imports that are in progress. An import arrives in pieces, so that other requests do not wait long for the ledger. What a piece needs
// from earlier pieces, such as the header and the ties, is kept between them. If all places are taken, a new import may replace one that
// was idle for a minute.

internal import Admission
internal import Control
internal import Ledger
internal import Platform
internal import Withdrawal

struct ConsentImports: Sendable {
    private static let most = 4
    /// How long an import must be idle before a new one may take its place.
    private static let idleTime = Duration.seconds(60)
    /// The number of lines in one transaction while a router uses the ledger, so that the router does not wait long. Without a router,
    /// larger transactions are faster.
    private static let batch = 2000

    private let ledger: ConsentLedger
    private let underWay = Monitor<[String: (work: ConsentImport, last: Instant)]>([:])

    init(_ ledger: ConsentLedger) { self.ledger = ledger }

    /// True if earlier pieces of the import have come.
    func isUnderWay(_ request: LedgerRequest) -> Bool {
        underWay.withLock { all in request.values["session"].map { all[$0] != nil } ?? false }
    }

    /// Imports a piece. The response has four numbers, which cover the whole import so far, and a line for each bad line of the piece.
    func take(_ piece: [UInt8], request: LedgerRequest, names: ConsentNames) throws(ConsentRefusal) -> Response {
        guard let name = request.values["session"], !name.isEmpty else {
            throw ConsentRefusal(400, "session is missing: expected a name that no other import has")
        }
        let isLast = request.values["end"] != nil
        let work = try find(name, format: try request.format, decided: try request.time, names: names)
        defer { if isLast { underWay.withLock { $0[name] = nil } } }
        let ledger = ledger
        // What was withdrawn before a fault is destroyed too.
        defer {
            let receipts = work.takeReceipts()
            if case .running(_, let withdrawals) = ledger { withdrawals.adopt(receipts) }
        }
        let text = try ledger.use { (file) throws(StorageFault) in (try work.take(piece, isLast: isLast, into: file, ledger), []) }
        return Response(200, type: "text/plain; charset=utf-8", text)
    }

    private func find(
        _ name: String, format: LedgerFormat, decided: Int64?, names: ConsentNames
    ) throws(ConsentRefusal) -> ConsentImport {
        var options = LedgerImport.Options()
        options.format = format
        options.decided = decided
        options.origin = ledger.origin
        options.check = names.fault
        if case .running = ledger { options.batch = ConsentImports.batch }
        let now = Clock.system.now()
        let fresh = ConsentImport(options)
        let found: ConsentImport? = underWay.withLock { all in
            if all[name] == nil, all.count >= ConsentImports.most {
                guard let oldest = all.min(by: { $0.value.last < $1.value.last }), now - oldest.value.last >= ConsentImports.idleTime else {
                    return nil
                }
                all[oldest.key] = nil
            }
            let work = all[name]?.work ?? fresh
            all[name] = (work, now)
            return work
        }
        guard let found else { throw ConsentRefusal(503, "\(ConsentImports.most) imports are already in progress; try again later") }
        return found
    }
}

/// One import. Only the thread that has the ledger uses it, so one thread at a time.
private final class ConsentImport: @unchecked Sendable {
    private let options: LedgerImport.Options
    private var work: LedgerImport?
    private var bad: [(line: Int, fault: String)] = []
    private var receipts: [Int64] = []

    init(_ options: LedgerImport.Options) { self.options = options }

    func take(_ piece: [UInt8], isLast: Bool, into file: LedgerFile, _ ledger: ConsentLedger) throws(StorageFault) -> String {
        let work = work ?? begin(file, ledger)
        self.work = work
        try piece.withUnsafeBufferPointer { (bytes) throws(StorageFault) in try work.take(UnsafeRawBufferPointer(bytes)) }
        if isLast { try work.finish() }
        defer { bad.removeAll() }
        let counts = work.counts
        return "\(counts.lines) \(counts.taken) \(counts.late) \(counts.bad)\n" + bad.map { "\($0.line): \($0.fault)\n" }.joined()
    }

    /// Returns the receipts of the withdrawals that were recorded since the last call.
    func takeReceipts() -> [Int64] {
        defer { receipts = [] }
        return receipts
    }

    private func begin(_ file: LedgerFile, _ ledger: ConsentLedger) -> LedgerImport {
        LedgerImport(
            into: file, options, bad: { [unowned self] in bad.append(($0, $1)) },
            changed: { changes in
                // Publish at once. A later transaction of the piece may fail, but this one is committed.
                if case .running(let registry, _) = ledger { registry.publish(changes) }
            },
            withdrew: { [unowned self] in receipts += $0 })
    }
}
