// What the author of a vendor writes: one type, in one file, and the line that exports it.
//
//     struct Example: Vendor {
//         static let about = VendorDescription(name: "example", version: "1.0.0", summary: "Sends events to Example.", ...)
//         init(_ setup: inout Setup) throws(SettingsFault) { ... }
//         func map(_ event: CanonicalEvent, to wire: inout WireEvents) { ... }
//     }
//
//     @c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Example>.self) }

@_exported public import HTTPKit
@_exported public import PluginKit

public protocol Vendor: Sendable {
    /// The name, the settings, and the mapping.
    static var about: VendorDescription { get }

    /// Reads the settings, and declares the endpoints and the members that `map` reads.
    init(_ setup: inout Setup) throws(SettingsFault)

    /// Writes one or more wire events for the event, or refuses it with a reason. The same event always gives the same bytes.
    func map(_ event: CanonicalEvent, to wire: inout WireEvents)

    /// Returns what an answer means. It is called only for a whole answer to a request that was sent whole. The default is the standard
    /// outcome by the status.
    func judge(_ reply: Reply, to request: SentRequest) -> Judgement
}

extension Vendor {
    public func judge(_ reply: Reply, to request: SentRequest) -> Judgement { .standard }
}

public struct VendorDescription: Sendable {
    public var name: String
    public var version: String
    public var summary: String
    /// The settings that only this vendor has.
    public var settings: KeyValuePairs<String, Schema>
    /// How the vendor takes compressed bodies.
    public var compressions: [Compression]
    /// True if the vendor recognizes an event that comes again by its id.
    public var deduplicates: Bool
    public var delivery: Description.Delivery
    /// What a person does to erase someone at the vendor without the module, in one line.
    public var byHand: String?
    /// Where the members of an event go. It is printed by `switchyard providers NAME --mapping`.
    public var mapping: [MappingRow]
    /// What of an event is refused, and what is cut, with the default settings. `switchyard check --swap` compares these rows with those of
    /// another vendor.
    public var refuses: [LimitRow]
    public var cuts: [LimitRow]

    public init(
        name: String, version: String, summary: String, settings: KeyValuePairs<String, Schema>,
        compressions: [Compression] = [.none, .gzip], deduplicates: Bool = true,
        delivery: Description.Delivery = .init(ordered: false), byHand: String? = nil, mapping: [MappingRow] = [], refuses: [LimitRow] = [],
        cuts: [LimitRow] = []
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = settings
        self.compressions = compressions
        self.deduplicates = deduplicates
        self.delivery = delivery
        self.byHand = byHand
        self.mapping = mapping
        self.refuses = refuses
        self.cuts = cuts
    }
}

/// A request whose answer is judged.
public struct SentRequest: Sendable {
    public let endpoint: Endpoint.ID
    /// The number of its wire events. An index in a judgement is below it.
    public let count: Int
    /// True if they come from several events. Then `rejected` for the whole request makes the router halve it.
    public let hasSeveralEvents: Bool

    package init(endpoint: Endpoint.ID, count: Int, hasSeveralEvents: Bool = false) {
        self.endpoint = endpoint
        self.count = count
        self.hasSeveralEvents = hasSeveralEvents
    }
}

/// What an answer means for the events of its request.
public enum Judgement: Sendable {
    /// The outcome by the status: 2xx delivered, 408, 425, 429 and 5xx retry, 400, 409, 413 and 422 rejected, any other a fault.
    case standard
    /// One outcome for the request. If it is `rejected` and there are several events, the router sends them again in halves until the bad
    /// one is alone.
    case whole(Outcome)
    /// The same outcome for each event by itself. With `rejected` each event is refused for good.
    case each(Outcome)
    /// The wire events at these indices have outcomes of their own, and all others have `rest`. With `retry` only these events wait, and
    /// the lane goes on.
    case mixed(rest: Outcome, [(index: Int, outcome: Outcome)])
}
