// Computes the wait before a delivery is tried again. It is random below a bound that doubles each time, up to a maximum.

internal import Plans
internal import Platform

/// A small random number generator with a seed, so that tests are reproducible.
public struct RandomSource: Sendable {
    private var state: UInt64
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 bits (SplitMix64).
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

struct Backoff {
    let plan: DeliveryPlan.Retry

    /// Returns the wait after this attempt, counted from 1. It is random up to the full wait, so that lanes that failed together do not
    /// return together.
    func wait(after attempt: Int, _ random: inout RandomSource) -> Duration {
        let first = max(1, plan.first.nanoseconds)
        let doublings = min(attempt - 1, 62)
        let grown = first > (Int64.max >> Int64(doublings)) ? Int64.max : first << Int64(doublings)
        let full = min(grown, max(1, plan.most.nanoseconds))
        return .nanoseconds(1 + Int64(random.next() % UInt64(full)))
    }
}
