// What the author of an adapter writes: one type, and one line that exports it (see Export.swift).
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

/// What every adapter has. The host makes one instance for each provider in routes.json.
public protocol Adapter: AnyObject, SendableMetatype {
    /// Name, version, settings and limits; the host checks routes.json against it before it makes an instance.
    static var description: Description { get }

    /// `settings` have been checked against the description, and defaults are filled in. What the description cannot say is
    /// judged here. `switchyard check` makes an instance too and closes it at once: nothing is connected, opened or written yet.
    init(settings: Settings, host: Host) throws

    /// Opens anew what was moved away (SIGHUP). The default has nothing to do. It may be called while a delivery is under way.
    func reopen()

    /// Ends the adapter; after it nothing is called. The default has nothing to do.
    func close()
}

extension Adapter {
    public func reopen() {}
    public func close() {}
}

/// A destination that takes one batch at a time. It is called from one thread at a time.
public protocol Provider: Adapter {
    /// Delivers a batch and says what became of it. It may block; the host keeps other providers going.
    func deliver(_ batch: borrowing Batch) -> Outcome

    /// Everything delivered so far is to be where it belongs. The default has nothing to do.
    func flush() -> Outcome
}

extension Provider {
    public func flush() -> Outcome { .delivered }
}

/// A destination that has several batches under way: `deliver` begins, and the delivery is finished later from any thread.
public protocol ConcurrentProvider: Adapter, Sendable {
    /// Takes the delivery over. One that is let go without `finish` counts as unknown, and is sent again.
    func deliver(_ delivery: consuming Delivery)

    /// Everything delivered so far is to be where it belongs. The default has nothing to do.
    func flush(_ completion: consuming Completion)
}

extension ConcurrentProvider {
    public func flush(_ completion: consuming Completion) { completion.finish(.delivered) }
}

/// A destination that can forget people; conforming to it is what announces the capability.
public protocol Eraser: Adapter {
    func erase(subjects: [String]) -> Outcome
}

/// What became of a batch.
public enum Outcome: Sendable {
    case delivered
    /// Refused for good; a whole batch is halved by the host until the bad event stands alone.
    case rejected(code: Int = 0, String)
    /// To be sent again, after that many milliseconds if the provider named a time. Of a whole batch the time is the destination's: the
    /// host delivers nothing before it is over. Of single events, in `mixed`, only these wait for it.
    case retry(code: Int = 0, String, afterMilliseconds: UInt64? = nil)
    /// It may have been delivered; it is sent again with the same ids.
    case unknown(code: Int = 0, String)
    /// The configuration is at fault, not the events: they are kept and the host probes until it is mended.
    case fault(code: Int = 0, String)
    /// The destination is gone for good.
    case closed(String)
    /// The events at these indices fared otherwise than the rest, which is treated as any batch. `rest` may name no event at all.
    indirect case mixed(rest: Outcome, events: [(index: Int, outcome: Outcome)])

    /// The first `count` events arrived; the rest shares the given fate.
    public static func partly(delivered count: Int, rest: Outcome) -> Outcome {
        count == 0 ? rest : .mixed(rest: rest, events: (0..<count).map { ($0, .delivered) })
    }
}

/// Why an instance could not be made; the text reaches the person who runs the router.
public struct SettingsFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
