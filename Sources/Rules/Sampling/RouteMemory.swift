// What the sample of a route remembers from one event to the next: how much of its limit is used up, and how dense its traffic is. The workers
// of a run share it, and a plan that takes over goes on with it.

internal import Platform

/// The state of one route's sample. Equal states at equal times give equal verdicts.
public struct SampleState: Sendable, Equatable {
    public var bucket = Bucket()
    public var traffic = Traffic()

    public init() {}
}

public final class RouteMemory: Sendable {
    private let sample: Monitor<SampleState>

    public init(_ state: SampleState = SampleState()) { sample = Monitor(state) }

    /// `isTrial`: nothing of it is remembered.
    public func rung(at now: Int64, _ rule: TargetRule, _ rates: UnsafeBufferPointer<SampleRate>, isTrial: Bool) -> Int {
        change(isTrial: isTrial) { $0.traffic.rung(at: now, rule, rates) }
    }

    public func takes(at now: Int64, _ rule: LimitRule, isTrial: Bool) -> Bool {
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
