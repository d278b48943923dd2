// A dialect is the format in which one vendor's client libraries write a body. Each is one small file that turns a body into canonical
// events. It is pure: it takes bytes and the circumstances of their arrival, and returns lines and faults. It uses no socket, clock or
// file.

internal import Events

public protocol Dialect: Sendable {
    /// Translates the body event by event. An invalid event is refused alone.
    func translate(
        _ body: UnsafeRawBufferPointer, context: RequestContext, translator: inout Translator, into translation: inout Translation)
}

/// The circumstances in which a body arrived.
public struct RequestContext: Sendable {
    /// The time at which the request arrived, in nanoseconds since 1970.
    public var time: Int64
    /// The client's address for `context.ip`. It is nil unless the configuration asks for it.
    public var ip: String?
    /// True if the head of the request says that Global Privacy Control is on (`Sec-GPC: 1`). Every event then has `context.gpc` true.
    public var isPrivate: Bool

    public init(time: Int64, ip: String? = nil, isPrivate: Bool = false) {
        self.time = time
        self.ip = ip
        self.isPrivate = isPrivate
    }
}

/// The limits of a translator. Its memory stays below `output` plus a few times the size of the body.
public struct TranslationLimits: Hashable, Sendable {
    /// The largest number of events in one body.
    public var events: Int
    /// The largest number of bytes in one canonical event.
    public var line: Int
    /// The largest number of bytes in all canonical events of one body. Common members are written into each event, so a small body can
    /// demand very much output.
    public var output: Int
    /// The largest number of levels of objects and lists in an event.
    public var depth: Int

    public init(events: Int = 100_000, line: Int = 16 << 20, output: Int = 128 << 20, depth: Int = 512) {
        self.events = events
        self.line = line
        self.output = output
        self.depth = depth
    }
}
