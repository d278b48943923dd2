// The provider `nats`: writes events to a stream of NATS JetStream. It promises that an event is delivered only after the stream has
// acknowledged it, and that an event which is sent again carries the same Nats-Msg-Id.

internal import HTTPKit
public import PluginKit
internal import StreamKit

final class NATSProvider: ConcurrentProvider, Previewer, Prober {
    static let version = "0.1.0"
    static let description: Description = {
        var description = Description(
            name: "nats", version: version, summary: "Writes events to a stream of NATS JetStream.", settings: NATSRules.ownSchema,
            concurrency: 8, deduplicates: true, asks: true, delivery: Description.Delivery(ordered: false))
        description.add(ServerSettings.schema)
        description.byHand = "Delete the messages of the person in the stream, such as with `nats stream rmm`, or let max_age remove them."
        description.mapping = [
            MappingRow("the whole event", "the message", note: "byte for byte", isRest: true),
            MappingRow("messageId", "Nats-Msg-Id", note: "bytes that are no visible ASCII are written as %0A"),
            MappingRow("members in subject", "the subject", note: "all but letters, digits, '-' and '_' becomes '_'"),
        ]
        description.refuses = [
            LimitRow(.size, "events that are larger than max_payload of the server or max_msg_size of the stream")
        ]
        return description
    }()

    private let rules: NATSRules
    private let library: NATSLibrary
    private let publisher: Publisher

    convenience init(settings: Settings, host: Host) throws {
        try self.init(settings: settings, clock: .system, library: .system)
    }

    init(settings: Settings, clock: Clock, library: NATSLibrary) throws {
        rules = try NATSRules(settings)
        self.library = library
        // A missing library is a fault of the settings. One that is there is loaded when it is needed.
        if !library.isFound(), let fault = library.load() { throw SettingsFault(fault) }
        publisher = Publisher(rules, clock, library)
    }

    func deliver(_ delivery: consuming Delivery) {
        guard delivery.batch.count > 0 else { return delivery.finish(.delivered) }
        publisher.publish(delivery)
    }

    func flush(_ completion: consuming Completion) { publisher.flush(completion) }

    func close() { publisher.close() }

    func preview(_ batch: borrowing Batch) -> Preview {
        var preview = Preview()
        let names = SubjectNames(rules)
        names.begin(batch.lines)
        for index in 0..<batch.count {
            guard names.read(index) else {
                preview.refused.append((index, "the event cannot be read: \(names.fault)"))
                continue
            }
            var headers = names.messageID.map { ["Nats-Msg-Id: \($0)"] } ?? []
            if let stream = rules.stream { headers.append("Nats-Expected-Stream: \(stream)") }
            preview.requests.append(
                Preview.Request(
                    method: "PUB", url: "\(rules.servers.servers[0].origin)/\(names.subject)", headers: headers,
                    body: Array(batch.lines.text(of: index)), events: [index]))
        }
        return preview
    }

    func probe(within milliseconds: Int) -> Probe { Inquiry(rules, library).result(within: milliseconds) }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(NATSProvider.self) }
