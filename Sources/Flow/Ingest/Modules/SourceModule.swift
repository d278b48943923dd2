// The interface between a source that a module brings and the router. Both directions are values of Swift here; the plugin host translates
// them from and to the C interface.

/// The module behind a source. `ModuleSource` calls it from one thread at a time.
public protocol SourceModule: AnyObject, Sendable {
    /// Connects the module's calls to a receiver. It is called once, before `start`.
    func connect(_ receiver: any SourceReceiver)
    func start()
    /// The module should hand over nothing until `resume`.
    func pause()
    func resume()
    /// Every event of the blocks with these tokens has come to its end.
    func acknowledge(_ tokens: [UInt64])
    /// The module hands over nothing after it has returned.
    func stop(within time: Duration)
    /// Ends the module. It is the last call.
    func close()
}

/// What a module calls. Any thread may call it, also inside a call of the module. No call waits for the module.
public protocol SourceReceiver: AnyObject, Sendable {
    /// Takes a block or refuses it. Its bytes are copied.
    func take(_ block: RawSourceBlock) -> BlockVerdict
    /// Notes how far the source is behind. A value is nil if the module does not know it.
    func note(behind events: UInt64?, _ time: Duration?)
    func note(_ state: SourceState, _ message: String)
    /// Nothing more comes.
    func end(_ message: String)
}

/// A block as a module hands it over. Its memory is valid during the call only.
public struct RawSourceBlock {
    public var token: UInt64
    public var stream: UInt64
    public var lines: UnsafeRawBufferPointer
    public var count: Int
    public var origin: String
    /// The number of each line at its origin, or nil. It has `count` elements.
    public var numbers: UnsafePointer<Int64>?

    public init(
        token: UInt64, stream: UInt64, lines: UnsafeRawBufferPointer, count: Int, origin: String = "", numbers: UnsafePointer<Int64>? = nil
    ) {
        self.token = token
        self.stream = stream
        self.lines = lines
        self.count = count
        self.origin = origin
        self.numbers = numbers
    }
}

/// What became of a block that a module has handed over.
public enum BlockVerdict: Equatable, Sendable {
    case taken
    /// There is no room. The module is told when there is room again.
    case full
    case closing
    /// The block breaks a rule of the interface.
    case wrong
}

/// Whether a source can get events.
public enum SourceState: String, Sendable {
    case connecting
    case connected
    case fault
}

/// The condition of a source, as people see it.
public struct SourceCondition: Sendable, Equatable {
    public var state = SourceState.connecting
    /// The module's own words for its state. It may be empty.
    public var message = ""
    /// How many events it is behind, and how long the oldest of them has waited there. A value is nil if it is not known.
    public var eventsBehind: UInt64?
    public var timeBehind: Duration?
    /// The blocks, and their bytes, that the router has taken and not acknowledged.
    public var openBlocks = 0
    public var openBytes = 0
    /// The blocks that no worker has taken yet.
    public var waitingBlocks = 0
    public var isPaused = false
    /// True if the module has said that nothing more comes.
    public var hasEnded = false
    /// The blocks that were acknowledged, and those that were refused because they break a rule.
    public var acknowledged = 0
    public var wrong = 0
    /// The blocks of which events were lost. They are never acknowledged.
    public var lost = 0
    public init() {}
}
