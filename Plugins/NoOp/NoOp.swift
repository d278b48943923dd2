// The provider `noop`: swallows events and counts them. For measuring, and for trying out routes.

public import PluginKit

final class NoOpProvider: Provider {
    static let description = Description(name: "noop", version: "0.1.0", summary: "Swallows events and counts them.")

    private let host: Host
    private var events = 0
    private var bytes = 0

    init(settings: Settings, host: Host) { self.host = host }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        events += batch.count
        bytes += batch.ndjson.count
        return .delivered
    }

    func close() { host.log(.debug, "swallowed \(events) events, \(bytes) bytes") }
}

@c @implementation public func switchyard_plugin_entry() -> UnsafePointer<switchyard_plugin>! { export(NoOpProvider.self) }
