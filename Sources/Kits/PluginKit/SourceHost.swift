// The functions that the router offers to a source. After the source has ended, every call is ignored, so a late call is harmless.

internal import CSwitchyardPlugin

/// The router, as a source sees it. Any thread may use it.
public struct SourceHost: Sendable {
    let link: SourceLink
    /// The longest line that is an event. Of a longer one a source need not hand over more than one byte more.
    public var mostLine: Int { link.mostLine }

    init(link: SourceLink) { self.link = link }

    /// A host of closures, for tests of a source.
    public init(
        mostLine: Int = 16_000_000, log: @escaping @Sendable (Host.Level, String) -> Void = { _, _ in },
        submit: @escaping @Sendable (SourceBlock) -> Handover,
        behind: @escaping @Sendable (UInt64?, UInt64?) -> Void = { _, _ in },
        state: @escaping @Sendable (SourceState, String) -> Void = { _, _ in }, ended: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        link = SourceLink(mostLine: mostLine, log: log, submit: submit, behind: behind, state: state, ended: ended)
    }

    /// Logs one line for the operator of the router. Never log event contents or secrets.
    public func log(_ level: Host.Level, _ message: String) { link.call { $0.log(level, message) } }

    /// Hands over a block. It never waits. `SourceGate` waits for room.
    public func submit(_ block: SourceBlock) -> Handover {
        var result = Handover.closing
        link.call { result = $0.submit(block) }
        return result
    }

    /// Reports how far the source is behind the end of what it reads. A value is nil if it is not known.
    public func behind(events: UInt64?, milliseconds: UInt64?) { link.call { $0.behind(events, milliseconds) } }

    /// Reports whether the source can get events, with one line for people.
    public func state(_ state: SourceState, _ message: String = "") { link.call { $0.state(state, message) } }

    /// Reports that nothing more comes.
    public func ended(_ message: String = "") { link.call { $0.ended(message) } }
}

/// Whether a source can get events.
public enum SourceState: Sendable {
    case connecting
    case connected
    /// It cannot go on until a person has changed something. It may try again by itself.
    case fault
}

/// The calls into the host. After `end` has returned, no call is active and no new call starts.
final class SourceLink: Sendable {
    let mostLine: Int
    let log: @Sendable (Host.Level, String) -> Void
    let submit: @Sendable (SourceBlock) -> Handover
    let behind: @Sendable (UInt64?, UInt64?) -> Void
    let state: @Sendable (SourceState, String) -> Void
    let ended: @Sendable (String) -> Void
    private let calls = OpenCalls()

    init(
        mostLine: Int, log: @escaping @Sendable (Host.Level, String) -> Void,
        submit: @escaping @Sendable (SourceBlock) -> Handover, behind: @escaping @Sendable (UInt64?, UInt64?) -> Void,
        state: @escaping @Sendable (SourceState, String) -> Void, ended: @escaping @Sendable (String) -> Void
    ) {
        self.mostLine = mostLine
        self.log = log
        self.submit = submit
        self.behind = behind
        self.state = state
        self.ended = ended
    }

    /// Copies the functions and the context of the table, since nothing else of it is needed.
    convenience init(_ host: UnsafePointer<switchyard_source_host>) {
        nonisolated(unsafe) let table = host.pointee
        self.init(
            mostLine: Int(clamping: table.most_line),
            log: { level, message in message.withBytes { table.log?(table.context, level.rawValue, $0) } },
            submit: { block in block.withC { SourceLink.verdict(table.submit?(table.context, $0)) } },
            behind: { events, milliseconds in table.behind?(table.context, events ?? .max, milliseconds ?? .max) },
            state: { state, message in message.withBytes { table.state?(table.context, state.number, $0) } },
            ended: { message in message.withBytes { table.ended?(table.context, $0) } })
    }

    private static func verdict(_ number: Int32?) -> Handover {
        switch number {
        case SWITCHYARD_TAKEN.rawValue: .taken
        case SWITCHYARD_FULL.rawValue: .full
        case SWITCHYARD_WRONG.rawValue: .wrong
        default: .closing
        }
    }

    func call(_ body: (SourceLink) -> Void) { calls.call { body(self) } }
    func end() { calls.end() }
}

extension SourceState {
    fileprivate var number: UInt32 {
        switch self {
        case .connecting: UInt32(SWITCHYARD_CONNECTING.rawValue)
        case .connected: UInt32(SWITCHYARD_CONNECTED.rawValue)
        case .fault: UInt32(SWITCHYARD_SOURCE_FAULT.rawValue)
        }
    }
}

extension SourceBlock {
    /// Calls `body` with the block as a C value, which lives until `body` returns.
    func withC<R>(_ body: (UnsafePointer<switchyard_block>) -> R) -> R {
        var origin = origin
        return origin.withUTF8 { origin in
            bytes.withUnsafeBufferPointer { bytes in
                numbers.withUnsafeBufferPointer { numbers in
                    var block = switchyard_block(
                        struct_size: UInt32(MemoryLayout<switchyard_block>.size), token: token, stream: stream,
                        lines: switchyard_bytes(data: bytes.baseAddress, size: bytes.count), count: count,
                        origin: switchyard_bytes(data: origin.baseAddress, size: origin.count),
                        numbers: numbers.isEmpty ? nil : numbers.baseAddress)
                    return body(&block)
                }
            }
        }
    }
}
