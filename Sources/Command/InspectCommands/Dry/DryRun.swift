// `switchyard run --dry`: judges a real stream and shows what would happen. It makes no provider, delivers nothing and writes nothing: the
// ledger of the state folder is only read, and what events say to the ledger is not recorded.

internal import Admission
internal import Events
internal import Glibc
internal import Ingest
internal import Judging
public import Ledger
public import Plans
public import Platform
internal import Tapping
internal import Terminal
internal import Workers

public struct DryRun {
    private let plan: Plan
    /// The ledger of the state folder. It is nil if none is kept.
    private let ledger: LedgerView?
    /// True if each event is shown with its verdicts.
    private let showsEvents: Bool

    private var tally: Tally
    private var rejected = 0
    /// For each provider, the number of copies that it would get, and their bytes.
    private var copies: [(events: Int, bytes: Int)]

    public init(_ plan: Plan, _ ledger: LedgerView?, showsEvents: Bool) {
        self.plan = plan
        self.ledger = ledger
        self.showsEvents = showsEvents
        tally = Tally(routes: plan.routes.count)
        copies = plan.providers.map { _ in (0, 0) }
    }

    /// Judges what the descriptor gives until its end or until `stop` is raised, and shows the counts. Returns the exit code.
    public mutating func run(from descriptor: Int32, stop: WakeUp, clock: Clock, isStrict: Bool) throws -> Int32 {
        let noChance = [UInt8](repeating: 0, count: 16)
        let ruleset = Ruleset(plan, subjectKey: ledger?.key ?? noChance, records: ledger?.records)
        let seen = plan.messageID.deduplicate.map { SeenIDs($0, key: noChance) }
        let size = 256 << 10
        var worker = Worker(ruleset, lineLimit: plan.limits.line, depth: plan.limits.depth, blockSize: size, seen: seen)
        var reader = LineReader(descriptor: descriptor, lineLimit: plan.limits.line, blockSize: size, stop: stop)
        let source = plan.sources.firstIndex(where: \.isInput) ?? 0
        var fault: SystemFault?
        reading: while true {
            switch reader.next(&worker.block.text) {
            case .lines:
                worker.block.arrival = clock.wall()
                worker.block.source = source
                try judge(&worker, ruleset)
            case .overlong(let bytes):
                worker.skipLine(bytes: bytes)
                rejected += worker.faults.count
            case .end, .stopped: break reading
            case .failed(let found):
                fault = found
                break reading
            }
            worker.reset()
        }
        if let fault { Console.say("stdin: the input could not be read: \(fault)") }
        if let fault = ledger?.fault { Console.say(fault.description) }
        // With the events, standard output has only these.
        if showsEvents { Console.note(text) } else { try Console.show(text) }
        if fault != nil { return ExitCode.undelivered }
        return rejected > 0 && isStrict ? ExitCode.invalidInput : ExitCode.delivered
    }

    private mutating func judge(_ worker: inout Worker, _ ruleset: Ruleset) throws {
        if let ledger { lookUp(&worker, ledger) }
        if showsEvents {
            let all = [Bool](repeating: true, count: plan.routes.count)
            worker.judge.watch([Watch(verdicts: .max, routes: all, mostEvents: .max, mostBytes: .max)])
        }
        worker.work()
        if showsEvents { try show(worker) }
        tally.add(worker.tally)
        rejected += worker.faults.count
        let parcels = worker.parcels
        for index in parcels.indices {
            copies[index].events += parcels[index].entries.count
            copies[index].bytes += parcels[index].byteCount
        }
        worker.removeParcels()
    }

    /// Reads what is on record about the people of the block.
    private func lookUp(_ worker: inout Worker, _ ledger: LedgerView) {
        worker.block.seal()
        var at = 0
        while at < worker.block.count {
            if let event = worker.scanner.scan(worker.block.bytes, UInt32(at)) { ledger.look(up: worker.judge.subjects(of: event)) }
            guard let newline = memchr(worker.block.text.base + at, 0x0a, worker.block.count - at) else { return }
            at = UnsafeRawPointer(newline) - UnsafeRawPointer(worker.block.text.base) + 1
        }
    }

    private func show(_ worker: borrowing Worker) throws {
        let text = TapText(request: TapRequest(.in), plan: plan)
        let own = TapPlan(plan)
        let lines = worker.judge.watchedEvents.compactMap { event in
            text.line(
                TappedEvent(
                    line: event.line, arrival: event.arrival, subjects: [],
                    origin: .routes(own, columns: event.columns, source: worker.block.source)))
        }
        try Console.show(lines.joined())
    }

    /// The counts, by route and reason.
    private var text: String {
        var lines = ["nothing was delivered: with --dry, routes only say what would happen"]
        let repeated = tally.duplicates == 0 ? "" : ", \(grouped(tally.duplicates)) duplicates"
        let made = tally.emitted == 0 ? "" : "; \(grouped(tally.emitted)) emitted"
        let valid = tally.events + tally.duplicates
        lines.append("read \(grouped(valid + rejected)): \(grouped(valid)) valid, \(grouped(rejected)) rejected\(repeated)\(made)")
        for (index, route) in plan.routes.enumerated() {
            let parts = Tally.columns.compactMap { column -> String? in
                let count = tally[index, column]
                return count == 0 ? nil : "\(grouped(count)) \(column.text)"
            }
            lines.append("route \(printable(route.name)): \(parts.isEmpty ? "nothing" : parts.joined(separator: ", "))")
        }
        let violations = tally.violationsByAction.filter { $0.count > 0 }.map { "\(grouped($0.count)) \($0.action)" }
        if !violations.isEmpty { lines.append("violations of the tracking plan: \(violations.joined(separator: ", "))") }
        for (provider, count) in zip(plan.providers, copies) {
            let shape = provider.shape.isEmpty ? "" : ", before its own filter and transform"
            lines.append("provider \(printable(provider.name)): would get \(grouped(count.events)), \(amount(count.bytes))\(shape)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
