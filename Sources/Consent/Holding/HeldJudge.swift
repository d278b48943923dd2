// Judges held events again by the current plan. Each event keeps its arrival time, its source and its key.

internal import Admission
internal import Events
internal import Generations
internal import HeldEventStore
internal import Judging
internal import Plans
internal import Platform
internal import Workers

final class HeldJudge {
    typealias Verdicts = [(route: UInt16, verdict: Verdict)]

    struct Judged {
        var verdicts: Verdicts
        /// The hash of the event for the audit trail. It is nil if no verdicts are collected, or if the event cannot be read any more.
        var hash: [UInt8]?
    }

    private let sources: [SourcePlan]
    private var generation: Generation
    private var worker: Worker
    /// The index of each route in the plan, by route number.
    private var places: [UInt16: Int]

    init(_ generation: Generation, sources: [SourcePlan]) {
        self.generation = generation
        self.sources = sources
        worker = Worker(generation.ruleset, lineLimit: .max, depth: generation.plan.limits.depth, blockSize: 4096)
        places = HeldJudge.places(generation)
    }

    private static func places(_ generation: Generation) -> [UInt16: Int] {
        Dictionary(generation.routes.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
    }

    /// The admitted events, one parcel for each provider of the plan.
    var parcels: UnsafeMutableBufferPointer<Parcel> { worker.parcels }

    /// Returns the events that the tracking plan rejects, since the last call.
    func takeRejected() -> [RejectedEvents] {
        defer { worker.judge.forgetHeld() }
        return worker.judge.rejected
    }

    /// Returns the verdicts of each event's routes. The admitted events are in `parcels`, unless `isTrial` is true.
    func judge(_ events: [HeldEvent], by generation: Generation, isTrial: Bool = false) -> [Judged] {
        adopt(generation)
        return events.map { judge($0, isTrial) }
    }

    /// Returns the hash of an event that is not judged again.
    func hash(of event: HeldEvent?, by generation: Generation) -> [UInt8]? {
        adopt(generation)
        guard generation.ruleset.keepsVerdicts, let event, let scanned = scan(event) else { return nil }
        return worker.judge.auditHash(of: scanned)
    }

    private func adopt(_ generation: Generation) {
        if generation === self.generation { return }
        worker.adopt(generation.ruleset, depth: generation.plan.limits.depth)
        places = HeldJudge.places(generation)
        self.generation = generation
    }

    /// Returns the indices of the lanes that a route's events go to, given the route's number.
    func targets(_ route: UInt16) -> [Int] { places[route].map { generation.targets[$0] } ?? [] }

    /// Returns the event, which is valid until the next call. Returns nil if it cannot be read any more, or is invalid under the plan.
    private func scan(_ event: HeldEvent) -> ScannedEvent? {
        if event.body.isEmpty { return nil }
        worker.block.removeAll()
        event.body[event.row.given...].withUnsafeBytes { worker.block.text.append(contentsOf: $0) }
        worker.block.seal()
        return worker.scanner.scan(worker.block.bytes, 0)
    }

    private func judge(_ event: HeldEvent, _ isTrial: Bool) -> Judged {
        let row = event.row
        guard let scanned = scan(event) else {
            let verdict: Verdict = event.body.isEmpty ? .denied(.unstored) : .outdated
            return Judged(verdicts: row.routes.map { ($0, verdict) })
        }
        let hash = worker.judge.auditHash(of: scanned)
        var verdicts: Verdicts = row.routes.filter { places[$0] == nil }.map { ($0, .outdated) }
        let (numbers, parcels) = (generation.routes, worker.parcels.baseAddress!)
        worker.judge.judge(held: scanned, terms(of: event), isTrial: isTrial, into: parcels) { route, verdict in
            verdicts.append((numbers[route], verdict))
        }
        assert(verdicts.count == row.routes.count, "a route of a held event has no verdict")
        return Judged(verdicts: verdicts, hash: hash)
    }

    private func terms(of event: HeldEvent) -> HeldTerms {
        let row = event.row
        var terms = HeldTerms(arrival: row.arrival, routes: row.routes.compactMap { places[$0] })
        terms.source = sources.firstIndex { $0.name == row.source }
        if let source = terms.source, let name = row.key, let key = sources[source].http?.keys.firstIndex(where: { $0.name == name }) {
            terms.key = key + 1
        }
        if let name = row.level, let levels = generation.plan.consent?.levels {
            // A level that the plan no longer has counts as the highest.
            terms.level = levels.firstIndex { $0.name == name } ?? levels.count - 1
        }
        terms.messageID = Array(event.body[..<row.given])
        return terms
    }
}
