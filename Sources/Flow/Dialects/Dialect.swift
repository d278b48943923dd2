// A dialect is how one vendor's client libraries write a body. Each is one small file that turns a body into canonical events.
// It is pure: bytes and the circumstances of their arrival in, lines and faults out. It knows no socket, clock or path.

internal import Events

public protocol Dialect: Sendable {
    /// Translates the body event by event. One that cannot be kept is refused alone.
    func translate(
        _ body: UnsafeRawBufferPointer, _ context: RequestContext, _ translator: inout Translator, into translation: inout Translation)
}

/// How a body came in: what a dialect knows of the world.
public struct RequestContext: Sendable {
    /// When the request came in, in nanoseconds since 1970.
    public var time: Int64
    /// The client's address for `context.ip`; nil unless the configuration asks for it.
    public var ip: String?

    public init(time: Int64, ip: String? = nil) {
        self.time = time
        self.ip = ip
    }
}

/// What a translator takes on. Memory stays below `output` and a few times the size of the body.
public struct TranslationLimits: Hashable, Sendable {
    /// The events of one body.
    public var events: Int
    /// The bytes of one canonical event.
    public var line: Int
    /// The bytes of all canonical events of one body. What events have in common is written into each, so a small body can
    /// ask for very much.
    public var output: Int
    /// How many levels of objects and lists an event may have.
    public var depth: Int

    public init(events: Int = 100_000, line: Int = 16 << 20, output: Int = 128 << 20, depth: Int = 512) {
        self.events = events
        self.line = line
        self.output = output
        self.depth = depth
    }
}
