// The memory of a route's sample from one event to the next: the used part of its limit, and the density of its traffic. All workers of a
// run share it, and the next plan of the run continues with it.

internal import Platform

/// The state of one route's sample. Equal states at equal times give equal verdicts.
public struct SampleState: Sendable, Equatable {
    public var bucket = Bucket()
    public var buckets = ValueBuckets()
    public var traffic = Traffic()

    public init() {}
}

public final class RouteMemory: Sendable {
    private let sample: Monitor<SampleState>

    public init(_ state: SampleState = SampleState()) { sample = Monitor(state) }

    /// Returns the rate for one more event, as an index into `rates`. If `isTrial` is true, nothing is remembered.
    public func rung(at now: Int64, _ rule: TargetRule, _ rates: UnsafeBufferPointer<SampleRate>, isTrial: Bool) -> Int {
        change(isTrial: isTrial) { $0.traffic.rung(at: now, rule, rates) }
    }

    public func takes(at now: Int64, _ rule: LimitRule, _ share: LimitShare = .all, isTrial: Bool) -> Bool {
        change(isTrial: isTrial) { state in
            switch share {
            case .all: state.bucket.takes(at: now, rule)
            case .value(let value): state.buckets.takes(at: now, value: value, rule)
            }
        }
    }

    /// Forgets all events.
    public func forget() { sample.withLock { $0 = SampleState() } }

    private func change<R>(isTrial: Bool, _ body: (inout SampleState) -> R) -> R {
        sample.withLock { state in
            guard isTrial else { return body(&state) }
            var copy = state
            return body(&copy)
        }
    }
}
