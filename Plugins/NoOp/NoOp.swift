// The provider `noop`: discards events and counts them. It serves measurements and trials of routes.

public import PluginKit

final class NoOpProvider: Provider {
    static let description = Description(name: "noop", version: "0.1.0", summary: "Discards events and counts them.")

    private let host: Host
    private var events = 0
    private var bytes = 0

    init(settings: Settings, host: Host) { self.host = host }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        events += batch.count
        bytes += batch.ndjson.count
        return .delivered
    }

    func close() { host.log(.debug, "discarded \(events) events, \(bytes) bytes") }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(NoOpProvider.self) }
