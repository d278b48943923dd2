// A delivery and its end. It promises that a delivery ends exactly once: by `finish`, or as unknown when the value is destroyed.

/// The answer that the host waits for.
public struct Completion: ~Copyable, Sendable {
    private var link: HostLink?
    private let token: UInt64

    init(link: HostLink, token: UInt64) {
        self.link = link
        self.token = token
    }

    deinit { link?.call { $0.complete(token, .unknown("the provider released the delivery without an outcome")) } }

    public consuming func finish(_ outcome: Outcome) {
        let link = self.link
        self.link = nil
        link?.call { $0.complete(token, outcome) }
    }
}

/// A batch together with its completion. The borrowed memory is reachable exactly as long as this value exists.
public struct Delivery: ~Copyable, Sendable {
    public let batch: Batch
    private let completion: Completion

    init(batch: consuming Batch, completion: consuming Completion) {
        self.batch = batch
        self.completion = completion
    }

    public consuming func finish(_ outcome: Outcome) { completion.finish(outcome) }
}

extension Delivery {
    /// A delivery without events whose end calls `done`, for requests that carry none, such as a probe.
    package init(withoutEvents done: @escaping @Sendable (Outcome) -> Void) {
        let link = HostLink(log: { _, _ in }, closed: { _ in }, complete: { _, outcome in done(outcome) })
        self.init(batch: Batch(lines: .none), completion: Completion(link: link, token: 0))
    }
}
