// Records since when each thread has worked on its current task, so that other threads can detect one that hangs in a call. It costs a
// thread two short locks for each task, and nothing while the thread waits.

public final class Watchdog: Sendable {
    /// The record of one thread.
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

        /// Runs work that should never take long.
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

    /// Returns a new heartbeat. The watchdog checks it as long as its owner keeps it.
    public func heartbeat(_ name: String) -> Heartbeat {
        let heartbeat = Heartbeat(name, clock)
        known.withLock { known in
            known.removeAll { $0.heartbeat == nil }
            known.append(Known(heartbeat: heartbeat))
        }
        return heartbeat
    }

    /// Returns the names of the heartbeats whose current task has taken longer than this time.
    public func stuck(longer time: Duration) -> [String] {
        let now = clock.now()
        let heartbeats = known.withLock { $0.compactMap(\.heartbeat) }
        return heartbeats.filter { heartbeat in heartbeat.since.map { now - $0 > time } ?? false }.map(\.name)
    }
}
