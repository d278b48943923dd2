// The protocols of an adapter. Its author writes one type, and one line that exports the type (see Export.swift).
//
//     public import PluginKit
//
//     final class Mine: Provider {
//         static let description = Description(name: "mine", version: "1.0.0", summary: "Sends events to mine.")
//         init(settings: Settings, host: Host) throws {}
//         func deliver(_ batch: borrowing Batch) -> Outcome { .delivered }
//     }
//
//     @c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(Mine.self) }

@_exported public import CSwitchyardPlugin
@_exported public import Platform

/// The requirements of every adapter. The host makes one instance for each provider in routes.json.
public protocol Adapter: AnyObject, SendableMetatype {
    /// The name, version, settings and limits. The host checks routes.json against it before it makes an instance.
    static var description: Description { get }

    /// Makes an instance. The host has checked `settings` against the description and has filled in the defaults. The initializer checks
    /// the rules that the description cannot express. `switchyard check` also makes an instance and closes it at once, so the initializer
    /// must not connect, open or write anything.
    init(settings: Settings, host: Host) throws

    /// Reopens files that were moved away (SIGHUP). The default does nothing. The host may call it while a delivery is active.
    func reopen()

    /// Ends the adapter. The host makes no call after it. The default does nothing.
    func close()
}

extension Adapter {
    public func reopen() {}
    public func close() {}
}

/// A destination that takes one batch at a time. The host calls it from one thread at a time.
public protocol Provider: Adapter {
    /// Delivers a batch and returns its outcome. It may block: the host keeps the other providers running.
    func deliver(_ batch: borrowing Batch) -> Outcome

    /// Writes everything delivered so far to its final place. The default does nothing.
    func flush() -> Outcome
}

extension Provider {
    public func flush() -> Outcome { .delivered }
}

/// A destination that handles several batches at once. `deliver` starts a delivery, and any thread finishes it later.
public protocol ConcurrentProvider: Adapter, Sendable {
    /// Takes ownership of the delivery. A delivery that is destroyed without `finish` counts as unknown, and is sent again.
    func deliver(_ delivery: consuming Delivery)

    /// Writes everything delivered so far to its final place. The default does nothing.
    func flush(_ completion: consuming Completion)
}

extension ConcurrentProvider {
    public func flush(_ completion: consuming Completion) { completion.finish(.delivered) }
}

/// The older form of `SubjectEraser`, whose entry of the table the router does not call.
public protocol Eraser: Adapter {
    func erase(subjects: [String]) -> Outcome
}

/// The outcome of a batch.
public enum Outcome: Sendable {
    case delivered
    /// The destination refuses the events permanently. If the whole batch is refused, the host halves it until the bad event is alone.
    case rejected(code: Int = 0, String)
    /// The host sends the events again, after `afterMilliseconds` if the provider gave a time. For a whole batch the time applies to the
    /// destination: the host delivers nothing until it has passed. For single events in `mixed`, only these events wait.
    case retry(code: Int = 0, String, afterMilliseconds: UInt64? = nil)
    /// The events may have been delivered. The host sends them again with the same ids.
    case unknown(code: Int = 0, String)
    /// The configuration is wrong, not the events. The host keeps the events and probes until the configuration is corrected.
    case fault(code: Int = 0, String)
    /// The destination is permanently gone.
    case closed(String)
    /// The events did not leave, because `Batch.mayBegin` returned false. The host takes out those that may not leave, and hands the others
    /// over again at once.
    case untried
    /// The events at these indices have their own outcomes. `rest` is the outcome of all other events, and the host treats it as the
    /// outcome of any batch. `rest` may apply to no event at all.
    indirect case mixed(rest: Outcome, events: [(index: Int, outcome: Outcome)])

    /// Returns an outcome in which the first `count` events are delivered, and `rest` applies to the others.
    public static func partly(delivered count: Int, rest: Outcome) -> Outcome {
        assert(count >= 0, "a negative number of events was delivered")
        return count == 0 ? rest : .mixed(rest: rest, events: (0..<count).map { ($0, .delivered) })
    }
}

/// The reason why an instance could not be made. The operator of the router sees the text.
public struct SettingsFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
