// The functions that the router offers to an instance. After the instance has ended, every call is ignored, so a late call is harmless.

/// The router, as an adapter sees it. Any thread may use it.
public struct Host: Sendable {
    public enum Level: Int32, Sendable {
        case debug
        case information
        case warning
        case error
    }

    let link: HostLink

    /// A host of closures, for tests of an adapter.
    public init(log: @escaping @Sendable (Level, String) -> Void, closed: @escaping @Sendable (String) -> Void) {
        link = HostLink(log: log, closed: closed, complete: { _, _ in })
    }

    init(link: HostLink) { self.link = link }

    /// Logs one line for the operator of the router. Never log event contents or secrets.
    public func log(_ level: Level, _ message: String) { link.call { $0.log(level, message) } }

    /// Reports that the destination is permanently gone, while no delivery is active.
    public func closed(_ message: String) { link.call { $0.closed(message) } }
}

/// The calls into the host. After `end` has returned, no call is active and no new call starts.
final class HostLink: Sendable {
    let log: @Sendable (Host.Level, String) -> Void
    let closed: @Sendable (String) -> Void
    let complete: @Sendable (UInt64, Outcome) -> Void
    let mayBegin: @Sendable (UInt64, UnsafeBufferPointer<UInt64>?) -> Bool
    private let calls = OpenCalls()

    init(
        log: @escaping @Sendable (Host.Level, String) -> Void, closed: @escaping @Sendable (String) -> Void,
        complete: @escaping @Sendable (UInt64, Outcome) -> Void,
        mayBegin: @escaping @Sendable (UInt64, UnsafeBufferPointer<UInt64>?) -> Bool = { _, _ in true }
    ) {
        self.log = log
        self.closed = closed
        self.complete = complete
        self.mayBegin = mayBegin
    }

    func call(_ body: (HostLink) -> Void) { calls.call { body(self) } }
    func end() { calls.end() }
}
