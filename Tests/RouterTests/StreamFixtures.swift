import Admission
import ConsentGate
import Events
import Foundation
import Judging
import Ledger
import Plans
import Platform
import TestSupport

@testable import Router
@testable import Statements
@testable import Workers

let streamLevels: [ConsentPlan.Level] = [
    .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
    .init(name: "standard", purposes: ["operations", "analytics"]),
]

/// Returns a plan with a ledger and one route that demands `standard`.
func streamPlan(writes: Bool = true, _ change: (inout Plan) -> Void = { _ in }) -> Plan {
    var plan = Plan()
    var consent = ConsentPlan()
    consent.levels = streamLevels
    consent.subject = ["userId", "anonymousId"].map { Path(keys: [$0]) }
    consent.ledger = LedgerPlan()
    plan.consent = consent
    plan.messageID.add = false
    plan.providers = [ProviderPlan(name: "out", plugin: "store", settings: Secret([]))]
    var source = SourcePlan(name: "in", plugin: "stdin")
    source.consent = writes ? .write : nil
    plan.namedSources = [source]
    var route = RoutePlan(name: "all")
    route.providers = [0]
    route.consent = ConsentDemand(level: 2)
    plan.routes = [route]
    change(&plan)
    return plan
}

/// A ledger on a disk that a test can make fail.
final class StreamLedger {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    let key = [UInt8](0..<16)
    let registry: Registry
    private let options: LedgerFile.Options
    private let disk = FaultyDisk()
    /// By how many nanoseconds the clock of the ledger is ahead.
    let ahead = Monitor(Int64(0))

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let key = key
        var options = LedgerFile.Options(keys: LedgerKeys(current: LedgerKeys.Key("ids", Array("0123456789abcdef".utf8)))) { id in
            let short = SubjectKey(of: id, under: key)
            return ShortHash(high: short.high, low: short.low)
        }
        options.levels = streamLevels.map(\.name)
        options.vfs = disk.name
        options.clock = Clock(now: Clock.system.now, wall: { [ahead] in Clock.system.wall() + ahead.withLock { $0 } })
        self.options = options
        registry = try Registry(LedgerFile(folder + "/ledger.sqlite", options: options)!)
    }

    deinit {
        heal()
        registry.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Returns a view of the ledger, as another process gets it.
    func view() throws -> LedgerView { LedgerView(try LedgerFile(lookingAt: folder + "/ledger.sqlite", options: options), key: key) }

    /// Makes the disk full from the call with that number on.
    func fail(at call: Int64 = 0) { disk.fail(at: call, .full, stays: true) }
    func heal() { disk.heal() }

    func set(_ id: String, _ terms: ConsentTerms) throws {
        try registry.use { (file) throws(StorageFault) in ((), try file.set(LedgerID(id), terms, origin: "test").changes) }
    }
    /// Returns the terms on record for this id alone.
    func terms(_ id: String) throws -> ConsentTerms? {
        try registry.use { (file) throws(StorageFault) in (try file.get(LedgerID(id))?.record?.terms, []) }
    }
    /// Returns the effective terms of the id in the file.
    func effective(_ id: String) throws -> [ConsentTerms] {
        try registry.use { (file) throws(StorageFault) in (try file.get(LedgerID(id))?.effective ?? [], []) }
    }
    func receipts() throws -> Int {
        try registry.use { (file) throws(StorageFault) in (try file.receipts().count, []) }
    }
    /// Returns the time of the last withdrawal on record.
    func withdrawn() throws -> Int64 {
        try registry.use { (file) throws(StorageFault) in (try file.receipts().last?.begun ?? 0, []) }
    }
}

/// Workers that get their turns from the test.
final class StreamFixture {
    let ledger: StreamLedger
    let ruleset: Ruleset
    let seen: SeenIDs?
    let said = Monitor<[String]>([])
    let destroyed = Monitor<[Int64]>([])
    /// The erasures that began, and the fault with which further ones fail.
    let erasing = Monitor<(asked: [AskedErasure], fault: StorageFault?)>(([], nil))
    private let consentWriter: ConsentWriter
    private let lineLimit: Int

    init(_ plan: Plan = streamPlan(), lineLimit: Int = 1 << 20) throws {
        self.lineLimit = lineLimit
        ledger = try StreamLedger()
        ruleset = Ruleset(plan, subjectKey: ledger.key, records: ledger.registry.records)
        seen = plan.messageID.deduplicate.map { SeenIDs($0, key: Array(0..<16)) }
        let (said, destroyed) = (said, destroyed)
        consentWriter = ConsentWriter(
            ledger.registry, destroy: { receipts in destroyed.withLock { $0 += receipts } },
            erase: { [erasing] (asked) throws(StorageFault) in
                try erasing.withLock { (erasing) throws(StorageFault) in
                    if let fault = erasing.fault { throw fault }
                    erasing.asked += asked
                }
            },
            say: { line in said.withLock { $0.append(line) } })
    }

    /// Returns a worker that has judged a block with these lines and waits for its turn.
    func block(_ lines: String...) -> WorkerBox { block(lines) }

    func block(_ lines: [String]) -> WorkerBox {
        let box = WorkerBox(Worker(ruleset, lineLimit: lineLimit, depth: 64, blockSize: 4096, seen: seen))
        box.worker.block.text.append(lines.map { $0 + "\n" }.joined())
        consentWriter.prepare(&box.worker, ruleset)
        box.worker.work()
        return box
    }

    /// Gives the worker its turn. Returns the names of the admitted events.
    @discardableResult func turn(_ box: WorkerBox) -> [String] {
        box.isWritten = consentWriter.settle(&box.worker, ruleset, source: "in")
        return box.admitted
    }

    @discardableResult func take(_ lines: String...) -> [String] {
        lines.flatMap { turn(block($0)) }
    }

    final class WorkerBox {
        var worker: Worker
        var isWritten = true
        init(_ worker: consuming Worker) { self.worker = worker }

        /// The arrival times of the admitted events.
        var arrivals: [Int64] {
            let parcels = worker.parcels
            return parcels[0].entries.map(\.arrival)
        }
        var isWaiting: Bool { worker.isWaiting }
        var heard: ConsentCounts { worker.heard }
        var tally: Tally { worker.tally }
        var faults: [LineFault] { worker.faults }
        var lines: Int { worker.lines }
        var sightings: Int { worker.sightings.count }

        /// The names of the admitted events.
        var admitted: [String] {
            let parcel = worker.parcels
            let text = String(decoding: parcel[0].bytes.bytes, as: UTF8.self)
            return text.split(separator: "\n").map { line in
                let name = line.components(separatedBy: #""event":""#)
                return name.count > 1 ? String(name[1].prefix { $0 != "\"" }) : ""
            }.filter { !$0.isEmpty }
        }
    }
}

func event(_ id: String, _ name: String, _ more: String = "") -> String { #"{"userId":"\#(id)","event":"\#(name)"\#(more)}"# }
func says(_ id: String, _ consent: String) -> String { #"{"type":"consent","userId":"\#(id)","consent":\#(consent)}"# }
let grants = #"{"level":"standard"}"#
let withdraws = #"{"withdrawn":true}"#
