// The source `nats`: the messages of a stream of NATS JetStream are events. A durable pull consumer on the server keeps the place.
//
// It promises that a message is acknowledged to the server only after the router has acknowledged the block with it. A message that was not
// acknowledged before an end, a kill or a loss of the connection is given out again by the server.

internal import HTTPKit
public import PluginKit

final class NATSSource: SourceProber {
    static let sourceDescription: SourceDescription = {
        var description = SourceDescription(
            name: NATSProvider.description.name, version: NATSProvider.version, summary: "Reads events from a stream of NATS JetStream.",
            settings: SourceRules.schema)
        description.add(ServerSettings.schema)
        return description
    }()

    private let rules: SourceRules
    private let library: NATSLibrary
    private let reader: StreamReader

    convenience init(settings: Settings, host: SourceHost) throws {
        try self.init(settings: settings, host: host, clock: .system, library: .system)
    }

    init(settings: Settings, host: SourceHost, clock: Clock, library: NATSLibrary) throws {
        rules = try SourceRules(settings)
        self.library = library
        // A missing library is a fault of the settings. One that is there is loaded when it is needed.
        if !library.isFound(), let fault = library.load() { throw SettingsFault(fault) }
        reader = StreamReader(rules, host, clock, library)
    }

    func start() { reader.start() }
    func pause() { reader.pause() }
    func resume() { reader.resume() }
    func acknowledge(_ tokens: [UInt64]) { reader.acknowledge(tokens) }
    func stop(withinMilliseconds time: Int) { reader.stop(within: .milliseconds(time)) }
    func close() { reader.close() }

    func probe(within milliseconds: Int) -> Probe {
        if let fault = library.load() { return .failed(fault) }
        do throws(ConnectionFault) {
            let connection = try Connection.open(rules.servers, name: "switchyard check", listener: nil)
            let setup = ConsumerSetup(rules, connection, milliseconds: max(1, min(milliseconds / 2, rules.requestTimeout)))
            let stream = "\(connection.server.origin) accepts the credentials, and has the stream '\(rules.stream)'"
            guard let found = try setup.find() else {
                return .accepted("\(stream); it has no consumer '\(rules.consumer)', which is made at the start")
            }
            let consumer = try setup.usable(found)
            return .accepted("\(stream) with the consumer '\(rules.consumer)', which has \(consumer.pending) messages to give out")
        } catch {
            return error.isSetting ? .refused(error.words) : .failed(error.words)
        }
    }
}

@c(switchyard_source_entry) public func sourceEntry() -> UnsafePointer<switchyard_source> { export(source: NATSSource.self) }
