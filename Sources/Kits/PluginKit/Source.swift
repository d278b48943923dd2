// The protocol of a source. Its author writes one type, and one line that exports the type (see SourceExport.swift). `SourceReader` is a
// source that needs only a function which reads.
//
//     public import PluginKit
//
//     final class Mine: Source {
//         static let sourceDescription = SourceDescription(name: "mine", version: "1.0.0", summary: "Reads events from mine.")
//         init(settings: Settings, host: SourceHost) throws {}
//         func start() { … }
//         func acknowledge(_ tokens: [UInt64]) { … }
//         func stop(withinMilliseconds time: Int) { … }
//     }
//
//     @c(switchyard_source_entry) public func sourceEntry() -> UnsafePointer<switchyard_source> { export(source: Mine.self) }

/// A source of events. The host makes one instance for each source in routes.json, and calls it from one thread at a time. These calls
/// return soon: while one of them has not returned, the instance gets no other call. Its own threads use it meanwhile.
public protocol Source: AnyObject, Sendable, SendableMetatype {
    /// The name, version and settings. The host checks routes.json against it before it makes an instance.
    static var sourceDescription: SourceDescription { get }

    /// Makes an instance. It only checks the settings: it does not connect, open or write anything, and hands over nothing.
    init(settings: Settings, host: SourceHost) throws

    /// Starts the source. It reads, connects and hands over on threads of its own.
    func start()

    /// The router has as much as it holds for this source. The source hands over nothing until `resume`, and keeps its session alive.
    func pause()

    /// There is room again. It is called after `pause`, and at least once after each block that was refused as `full`.
    func resume()

    /// Every event of the blocks with these tokens has come to its end. Only now a source may forget the events or commit their offsets.
    func acknowledge(_ tokens: [UInt64])

    /// Stops the source: it hands over nothing after this has returned. Tokens are still acknowledged until `close`.
    func stop(withinMilliseconds time: Int)

    /// Ends the source and waits for its threads. What was acknowledged is committed when it returns.
    func close()
}

extension Source {
    public func pause() {}
    public func resume() {}
    public func close() {}
}

/// A source that can say whether it can connect, without taking an event.
public protocol SourceProber: Source {
    /// Returns within that time. The source may call `behind` of its host before.
    func probe(within milliseconds: Int) -> Probe
}

/// The description of a source, as values that render to the JSON text that `describe` returns.
public struct SourceDescription: Sendable {
    /// The name by which routes.json refers to the module. It matches `[a-z0-9_-]+`. A provider in the same library has the same.
    public var name: String
    public var version: String
    public var summary: String
    /// The settings, in the order in which they are shown.
    public private(set) var settings: [(key: String, value: Schema)]

    public init(name: String, version: String, summary: String, settings: KeyValuePairs<String, Schema> = [:]) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = Array(settings)
        assert(!name.isEmpty, "a module has no name")
    }

    /// Adds settings behind the others. A setting that is already there stays as it is.
    public mutating func add(_ settings: KeyValuePairs<String, Schema>) {
        self.settings += settings.filter { added in !self.settings.contains { $0.key == added.key } }
    }

    /// Returns the JSON text of `describe`.
    public var json: String {
        JSONText.object([
            ("name", JSONText.string(name)),
            ("version", JSONText.string(version)),
            ("summary", JSONText.string(summary)),
            ("settings", Schema.object("", members: settings, others: nil).json),
        ])
    }
}
