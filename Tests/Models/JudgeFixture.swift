import Admission
import ConsentGate
import Events
import Judging
import Plans

/// Scans and judges lines under a plan, as a worker does.
final class JudgeFixture {
    let ruleset: Ruleset
    var judge: Judge
    var scanner: Scanner
    private var counted: Tally
    /// The counts of all events so far.
    var tally: Tally {
        get {
            judge.countLeftOut(into: &counted)
            return counted
        }
        set { counted = newValue }
    }
    let parcels: UnsafeMutablePointer<Parcel>

    init(
        _ plan: Plan, locatesMessageIDs: Bool = false, memories: RouteMemories = RouteMemories(), records: ConsentRecords? = nil,
        levels: RunNames = RunNames()
    ) {
        ruleset = Ruleset(
            plan, subjectKey: Array(0..<16), locatesMessageIDs: locatesMessageIDs, memories: memories, records: records, levels: levels)
        judge = Judge(ruleset)
        scanner = Scanner(ruleset.paths)
        counted = Tally(routes: ruleset.routeCount)
        parcels = .allocate(capacity: ruleset.providerCount)
        for i in 0..<ruleset.providerCount { (parcels + i).initialize(to: Parcel()) }
    }

    deinit {
        parcels.deinitialize(count: ruleset.providerCount)
        parcels.deallocate()
    }

    /// Judges the line into the parcels. Returns false if the line is not a valid event.
    @discardableResult func take(_ line: String, arrival: Int64 = 0, key: Int = 0) -> Bool {
        withEvent(line) { event in
            judge.judge(event, arrival: arrival, key: key, into: parcels, tally: &counted)
        } != nil
    }

    func verdicts(_ line: String, arrival: Int64 = 0) -> [Verdict] {
        withEvent(line) { event in judge.verdicts(of: event, arrival: arrival) } ?? []
    }

    func findings(_ line: String, arrival: Int64 = 0) -> [Finding] {
        withEvent(line) { event in judge.findings(on: event, arrival: arrival) } ?? []
    }

    func emitFaults(_ line: String) -> [EmitFault] { withEvent(line) { event in judge.emitFaults(of: event) } ?? [] }

    /// Returns the events that are emitted for the event, each as a line.
    func emissions(_ line: String, arrival: Int64 = 0) -> [String] {
        (withEvent(line) { event in judge.emissions(of: event, arrival: arrival) } ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    private func withEvent<R>(_ line: String, _ body: (ScannedEvent) -> R) -> R? {
        var block = Block()
        block.text.append("   \n")
        let start = UInt32(block.text.count)
        block.text.append(line)
        block.text.append(0x0a)
        block.seal()
        guard let event = scanner.scan(block.bytes, start) else { return nil }
        return body(event)
    }

    /// Returns what the lane of the provider would receive, one line for each event.
    func lines(_ provider: Int = 0) -> [String] {
        var lines: [String] = []
        var start = 0
        for entry in parcels[provider].entries {
            let bytes = parcels[provider].bytes.bytes[start..<Int(entry.end)]
            precondition(bytes.last == 0x0a)
            lines.append(String(decoding: bytes.dropLast(), as: UTF8.self))
            start = Int(entry.end)
        }
        return lines
    }
}
