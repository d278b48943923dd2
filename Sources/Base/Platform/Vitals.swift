// Who is at work since when, so that a thread which hangs in a call is seen from outside. It costs a thread two short locks for a piece
// of work, and nothing while it waits.

public final class Vitals: Sendable {
    /// One thread's.
    public final class Pulse: Sendable {
        public let name: String
        private let began = Monitor<Instant?>(nil)
        private let clock: Clock

        fileprivate init(_ name: String, _ clock: Clock) {
            self.name = name
            self.clock = clock
        }

        public func begin() {
            let now = clock.now()
            began.withLock { $0 = now }
        }

        public func end() { began.withLock { $0 = nil } }

        /// Work that should never take long.
        @inline(__always) public func beat<R>(_ work: () -> R) -> R {
            begin()
            defer { end() }
            return work()
        }

        fileprivate var since: Instant? { began.withLock { $0 } }
    }

    private struct Known {
        weak var pulse: Pulse?
    }

    private let clock: Clock
    private let known = Monitor<[Known]>([])

    public init(clock: Clock = .system) { self.clock = clock }

    /// Looked after for as long as its owner keeps it.
    public func pulse(_ name: String) -> Pulse {
        let pulse = Pulse(name, clock)
        known.withLock { known in
            known.removeAll { $0.pulse == nil }
            known.append(Known(pulse: pulse))
        }
        return pulse
    }

    /// The names of those that have been at one piece of work for longer than that.
    public func stuck(longer time: Duration) -> [String] {
        let now = clock.now()
        let pulses = known.withLock { $0.compactMap(\.pulse) }
        return pulses.filter { pulse in pulse.since.map { now - $0 > time } ?? false }.map(\.name)
    }
}
