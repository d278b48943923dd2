// Who is at work since when, so that a thread which hangs in a call is seen from outside. It costs a thread two short locks for a piece
// of work, and nothing while it waits.

public final class Watchdog: Sendable {
    /// One thread's.
    public final class Heartbeat: Sendable {
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
        weak var heartbeat: Heartbeat?
    }

    private let clock: Clock
    private let known = Monitor<[Known]>([])

    public init(clock: Clock = .system) { self.clock = clock }

    /// Looked after for as long as its owner keeps it.
    public func heartbeat(_ name: String) -> Heartbeat {
        let heartbeat = Heartbeat(name, clock)
        known.withLock { known in
            known.removeAll { $0.heartbeat == nil }
            known.append(Known(heartbeat: heartbeat))
        }
        return heartbeat
    }

    /// The names of those that have been at one piece of work for longer than that.
    public func stuck(longer time: Duration) -> [String] {
        let now = clock.now()
        let heartbeats = known.withLock { $0.compactMap(\.heartbeat) }
        return heartbeats.filter { heartbeat in heartbeat.since.map { now - $0 > time } ?? false }.map(\.name)
    }
}
