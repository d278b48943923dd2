// What routes remember from one event to the next: how much of a limit is used up, how dense the traffic is. It is all that a verdict
// depends on besides the event, the plan and the time. The workers of a run share it, and a plan that takes over goes on with it.

internal import Platform

/// The state of one route's sample. Equal states at equal times give equal verdicts.
struct SampleState: Sendable, Equatable {
    var bucket = Bucket()
    var traffic = Traffic()
}

final class RouteMemory: Sendable {
    private let sample: Monitor<SampleState>

    init(_ state: SampleState = SampleState()) { sample = Monitor(state) }

    /// `isTrial`: nothing of it is remembered.
    func rung(at now: Int64, _ rule: TargetRule, _ rates: UnsafeBufferPointer<SampleRate>, isTrial: Bool) -> Int {
        change(isTrial: isTrial) { $0.traffic.rung(at: now, rule, rates) }
    }

    func takes(at now: Int64, _ rule: LimitRule, isTrial: Bool) -> Bool {
        change(isTrial: isTrial) { $0.bucket.takes(at: now, rule) }
    }

    private func change<R>(isTrial: Bool, _ body: (inout SampleState) -> R) -> R {
        sample.withLock { state in
            guard isTrial else { return body(&state) }
            var copy = state
            return body(&copy)
        }
    }
}

/// The memories of a run's routes, by their names.
public final class RouteMemories: Sendable {
    private let known = Monitor<[String: RouteMemory]>([:])

    public init() {}

    /// Those of these routes. A route that is not among them begins anew when it comes back.
    func recall(_ names: [String]) -> [RouteMemory] {
        known.withLock { known in
            let memories = names.map { known[$0] ?? RouteMemory() }
            known = Dictionary(zip(names, memories)) { first, _ in first }
            return memories
        }
    }
}
