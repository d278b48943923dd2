import Configuration
import Events

@testable import Policy

/// Scans and judges lines by a plan, as a worker would.
final class Bench {
    let ruleset: Ruleset
    var judge: Judge
    var scanner: Scanner
    var tally: Tally
    let parcels: UnsafeMutablePointer<Parcel>

    init(_ plan: Plan, locatesMessageIDs: Bool = false, memories: RouteMemories = RouteMemories()) {
        ruleset = Ruleset(plan, subjectKey: Array(0..<16), locatesMessageIDs: locatesMessageIDs, memories: memories)
        judge = Judge(ruleset)
        scanner = Scanner(ruleset.paths)
        tally = Tally(routes: ruleset.routeCount)
        parcels = .allocate(capacity: ruleset.providerCount)
        for i in 0..<ruleset.providerCount { (parcels + i).initialize(to: Parcel()) }
    }

    deinit {
        parcels.deinitialize(count: ruleset.providerCount)
        parcels.deallocate()
    }

    /// False when the line is no valid event.
    @discardableResult func take(_ line: String, arrival: Int64 = 0, key: Int = 0) -> Bool {
        withEvent(line) { event in
            judge.judge(event, arrival: arrival, key: key, into: parcels, tally: &tally)
        } != nil
    }

    func verdicts(_ line: String, arrival: Int64 = 0) -> [Verdict] {
        withEvent(line) { event in judge.verdicts(of: event, arrival: arrival) } ?? []
    }

    func findings(_ line: String, arrival: Int64 = 0) -> [Finding] {
        withEvent(line) { event in judge.findings(on: event, arrival: arrival) } ?? []
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

    /// What the provider's lane would get, one line for each event.
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

/// A plan with as many providers as are named, all of them without settings.
func plan(providers: Int = 1, _ routes: RoutePlan...) -> Plan {
    var plan = Plan()
    plan.providers = (0..<providers).map { ProviderPlan(name: "p\($0)", plugin: "noop", settings: Secret(Array("{}".utf8))) }
    plan.routes = routes
    plan.keys = [Key(name: "ids", secret: Secret(Array("secret".utf8))), Key(name: "other", secret: Secret(Array("other".utf8)))]
    return plan
}

func route(_ change: (inout RoutePlan) -> Void = { _ in }) -> RoutePlan {
    var route = RoutePlan(name: "route")
    route.providers = [0]
    change(&route)
    return route
}

func path(_ text: String) -> Path { try! Path(parsing: text) }

/// The verdict of the one route that `change` describes.
func verdict(_ line: String, _ change: (inout RoutePlan) -> Void) -> Verdict? {
    let bench = Bench(plan(route(change)))
    return bench.verdicts(line).first
}

/// The line as one route edits it; nil when it is not admitted.
func edited(_ line: String, _ transforms: TransformPlan...) -> String? {
    let bench = Bench(plan(route { $0.transforms = transforms }))
    guard bench.take(line) else { return nil }
    return bench.lines().first
}

/// A generator whose numbers are the same in every run.
struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}
