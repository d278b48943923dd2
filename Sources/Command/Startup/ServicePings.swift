// Tells systemd that the router works, if its unit has WatchdogSec=. A router that is not healthy says nothing, so systemd ends it and starts
// it again. Without systemd there is no thread.

internal import Glibc
internal import Platform

public final class ServicePings: Sendable {
    private let interval: Duration
    private let clock: Clock
    private let isHealthy: @Sendable () -> Bool
    private let ping: @Sendable () -> Void
    private let isOver = Monitor(false)

    /// `interval` is the time between two pings.
    init(every interval: Duration, clock: Clock, isHealthy: @escaping @Sendable () -> Bool, ping: @escaping @Sendable () -> Void) {
        self.interval = interval
        self.clock = clock
        self.isHealthy = isHealthy
        self.ping = ping
    }

    /// Starts to ping if systemd asks for it, and returns nil otherwise.
    public static func start(isHealthy: @escaping @Sendable () -> Bool) -> ServicePings? {
        guard let interval = interval({ name in getenv(name).map { String(cString: $0) } }, process: getpid()) else { return nil }
        let pings = ServicePings(every: interval, clock: .system, isHealthy: isHealthy) { ServiceManager.notify("WATCHDOG=1") }
        Thread.start("service pings") { pings.run() }.detach()
        return pings
    }

    /// Returns the time between two pings, or nil if systemd wants none from this process. It is a quarter of the time after which systemd
    /// ends the process, so that one ping that comes late or not at all ends nothing.
    static func interval(_ environment: (String) -> String?, process: Int32) -> Duration? {
        guard let text = environment("WATCHDOG_USEC"), let microseconds = Int64(text), microseconds > 0 else { return nil }
        // If there is a number of a process, the variable is only for that one, and was inherited from it.
        if let owner = environment("WATCHDOG_PID"), Int32(owner) != process { return nil }
        return .microseconds(max(1, microseconds / 4))
    }

    /// Pings until `end` is called.
    func run() {
        while true {
            if isHealthy() { ping() }
            let (clock, next) = (clock, clock.now() + interval)
            let goesOn = isOver.waitUntilReady { isOver -> Readiness<Bool> in
                isOver ? .ready(false) : clock.now() >= next ? .ready(true) : .notBefore(next)
            }
            if !goesOn { return }
        }
    }

    public func end() {
        isOver.withLock { $0 = true }
        isOver.wake()
    }
}
