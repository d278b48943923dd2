// What the author of an adapter writes: one type, and one line that exports it (see Export.swift).

/// A destination for events. The host makes one instance for each provider in routes.json and calls it from one thread at a time.
public protocol Provider: AnyObject {
    /// Name, version, settings and limits; the host checks routes.json against it before it makes an instance.
    static var description: Description { get }

    /// `settings` have been checked against the description, and defaults are filled in.
    init(settings: Settings, host: Host) throws

    /// Delivers a batch and says what became of it. It may block; the host keeps other providers going.
    func deliver(_ batch: borrowing Batch) -> Outcome

    /// Everything delivered so far is to be where it belongs. The default has nothing to do.
    func flush() -> Outcome

    /// Opens anew what was moved away (SIGHUP). The default has nothing to do. It may be called while a delivery is under way.
    func reopen()

    /// Ends the provider; after it nothing is called. The default has nothing to do.
    func close()
}

extension Provider {
    public func flush() -> Outcome { .delivered }
    public func reopen() {}
    public func close() {}
}

/// What became of a batch.
public enum Outcome {
    case delivered
    /// Refused for good; a whole batch is halved by the host until the bad event stands alone.
    case rejected(code: Int = 0, String)
    /// To be sent again, after that many milliseconds if the provider named a time.
    case retry(code: Int = 0, String, afterMilliseconds: UInt64? = nil)
    /// It may have been delivered; it is sent again with the same ids.
    case unknown(code: Int = 0, String)
    /// The configuration is at fault, not the events: they are kept and the host probes until it is mended.
    case fault(code: Int = 0, String)
    /// The destination is gone for good.
    case closed(String)
    /// The events at these indices fared otherwise than the rest.
    indirect case mixed(rest: Outcome, events: [(index: Int, outcome: Outcome)])
}

/// Why an instance could not be made; the text reaches the person who runs the router.
public struct SettingsFault: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
