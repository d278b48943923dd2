// Imports that are under way. One comes in pieces, so that nobody else waits long for the ledger; what a piece needs to know of those
// before it, such as the header and who is tied to whom, is kept between them. An import that nobody goes on with makes room for others.

import Admission
import Control
import Ledger
import Platform

struct ConsentImports: Sendable {
    private static let most = 4
    /// After so long others may have its place.
    private static let patience = Duration.seconds(60)
    /// Lines in one transaction of a ledger for which others wait; one that rests takes them all the faster in large ones.
    private static let batch = 2000

    private let ledger: ConsentLedger
    private let underWay = Monitor<[String: (work: ConsentImport, last: Instant)]>([:])

    init(_ ledger: ConsentLedger) { self.ledger = ledger }

    /// Takes a piece, and tells how far it has come: four numbers, and a line for each bad line.
    func take(_ piece: [UInt8], _ request: LedgerRequest, _ words: ConsentWords) throws(ConsentRefusal) -> Response {
        guard let name = request.values["session"], !name.isEmpty else {
            throw ConsentRefusal(400, "session is missing: expected a name that no other import has")
        }
        let isLast = request.values["end"] != nil
        let work = try find(name, try request.format, try request.time, words)
        defer { if isLast { underWay.withLock { $0[name] = nil } } }
        let ledger = ledger
        let text = try ledger.use { (file) throws(StorageFault) in (try work.take(piece, isLast: isLast, into: file, ledger), []) }
        return Response(200, type: "text/plain; charset=utf-8", text)
    }

    private func find(
        _ name: String, _ format: LedgerFormat, _ decided: Int64?, _ words: ConsentWords
    ) throws(ConsentRefusal) -> ConsentImport {
        var options = LedgerImport.Options()
        options.format = format
        options.decided = decided
        options.origin = ledger.origin
        options.check = words.fault
        if case .running = ledger { options.batch = ConsentImports.batch }
        let now = Clock.system.now()
        let fresh = ConsentImport(options)
        let found: ConsentImport? = underWay.withLock { all in
            if all[name] == nil, all.count >= ConsentImports.most {
                guard let oldest = all.min(by: { $0.value.last < $1.value.last }), now - oldest.value.last >= ConsentImports.patience else {
                    return nil
                }
                all[oldest.key] = nil
            }
            let work = all[name]?.work ?? fresh
            all[name] = (work, now)
            return work
        }
        guard let found else { throw ConsentRefusal(503, "\(ConsentImports.most) imports are under way already, try again later") }
        return found
    }
}

/// One of them. It is used by who has the ledger, so by one at a time.
private final class ConsentImport: @unchecked Sendable {
    private let options: LedgerImport.Options
    private var work: LedgerImport?
    private var bad: [(line: Int, words: String)] = []

    init(_ options: LedgerImport.Options) { self.options = options }

    func take(_ piece: [UInt8], isLast: Bool, into file: LedgerFile, _ ledger: ConsentLedger) throws(StorageFault) -> String {
        let work = work ?? begin(file, ledger)
        self.work = work
        try piece.withUnsafeBufferPointer { (bytes) throws(StorageFault) in try work.take(UnsafeRawBufferPointer(bytes)) }
        if isLast { try work.finish() }
        defer { bad.removeAll() }
        let counts = work.counts
        return "\(counts.lines) \(counts.taken) \(counts.late) \(counts.bad)\n" + bad.map { "\($0.line): \($0.words)\n" }.joined()
    }

    private func begin(_ file: LedgerFile, _ ledger: ConsentLedger) -> LedgerImport {
        LedgerImport(
            into: file, options, bad: { [unowned self] in bad.append(($0, $1)) },
            changed: { changes in
                // At once: a later transaction of the piece may fail, and this one holds.
                if case .running(let registry, _) = ledger { registry.publish(changes) }
            })
    }
}
