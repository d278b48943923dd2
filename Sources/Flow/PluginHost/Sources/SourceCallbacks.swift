// The functions that a source may call. A callback names its instance by a number, which is not a pointer. So a callback that is late or
// invalid finds nothing and does no harm. What a module passes is checked and copied before anything else sees it.

internal import CSwitchyardPlugin
internal import Document
internal import Ingest
internal import Platform

/// The host's callbacks for one instance. They live as long as the process, and so does the table that is lent to the module.
final class SourceCallbacks: Sendable {
    private struct State {
        var receiver: (any SourceReceiver)?
        /// The blocks that were handed over before there was a receiver, or after it had left.
        var strays = 0
        var isOver = false
    }

    let hidden: HiddenTexts
    private let gate: LogGate
    private let state = Monitor(State())

    init(source: String, hidden: HiddenTexts, clock: Clock, log: @escaping @Sendable (LogLevel, String) -> Void) {
        self.hidden = hidden
        gate = LogGate(provider: source, clock: clock, log: log)
    }

    var strays: Int { state.withLock { $0.strays } }

    func connect(_ receiver: any SourceReceiver) { state.withLock { $0.receiver = receiver } }

    /// From now on the module's calls have no effect.
    func end() {
        state.withLock { state in
            state.receiver = nil
            state.isOver = true
        }
        gate.end()
    }

    // MARK: From the module

    func log(_ level: Int32, _ message: switchyard_bytes) {
        guard !state.withLock({ $0.isOver }) else { return }
        gate.say(LogLevel(rawValue: min(max(level, 0), 3))!) { ForeignText.read(message, most: 4096, hiding: hidden) }
    }

    func submit(_ pointer: UnsafePointer<switchyard_block>?) -> Int32 {
        let receiver = state.withLock { state in
            if state.receiver == nil { state.strays += 1 }
            return state.receiver
        }
        guard let receiver else { return SWITCHYARD_CLOSING.rawValue }
        guard let raw = SourceCallbacks.read(pointer, hidden) else { return SWITCHYARD_WRONG.rawValue }
        return switch receiver.take(raw) {
        case .taken: SWITCHYARD_TAKEN.rawValue
        case .full: SWITCHYARD_FULL.rawValue
        case .closing: SWITCHYARD_CLOSING.rawValue
        case .wrong: SWITCHYARD_WRONG.rawValue
        }
    }

    /// Returns the block, or nil if its struct is too short. A later module may have a longer one.
    private static func read(_ pointer: UnsafePointer<switchyard_block>?, _ hidden: HiddenTexts) -> RawSourceBlock? {
        guard let pointer else { return nil }
        let least = MemoryLayout<switchyard_block>.offset(of: \.count)! + MemoryLayout<Int>.size
        let size = Int(UnsafeRawPointer(pointer).loadUnaligned(as: UInt32.self))
        guard size >= least else { return nil }
        var block = switchyard_block()
        withUnsafeMutableBytes(of: &block) { ours in
            ours.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(size, ours.count)))
        }
        // A size of more than half the address space arrives as a negative number, and such a block has no line.
        let isPlausible = block.lines.data != nil && block.lines.size > 0
        let lines = UnsafeRawBufferPointer(start: block.lines.data, count: isPlausible ? block.lines.size : 0)
        return RawSourceBlock(
            token: block.token, stream: block.stream, lines: lines, count: block.count,
            origin: ForeignText.read(block.origin, most: 1024, hiding: hidden), numbers: block.numbers)
    }

    func behind(_ events: UInt64, _ milliseconds: UInt64) {
        let time = milliseconds == .max ? nil : Duration.milliseconds(Int64(clamping: min(milliseconds, 1 << 50)))
        receiver?.note(behind: events == .max ? nil : events, time)
    }

    func note(_ kind: UInt32, _ message: switchyard_bytes) {
        let words = ForeignText.read(message, most: 1024, hiding: hidden)
        switch kind {
        case UInt32(SWITCHYARD_CONNECTING.rawValue): receiver?.note(.connecting, words)
        case UInt32(SWITCHYARD_CONNECTED.rawValue): receiver?.note(.connected, words)
        case UInt32(SWITCHYARD_SOURCE_FAULT.rawValue): receiver?.note(.fault, words)
        default: receiver?.note(.fault, "the module reports the unknown state \(kind)")
        }
    }

    func ended(_ message: switchyard_bytes) { receiver?.end(ForeignText.read(message, most: 1024, hiding: hidden)) }

    private var receiver: (any SourceReceiver)? { state.withLock { $0.receiver } }
}

/// Finds the instance for the number in a callback.
enum SourceRegistry {
    private struct Line {
        let callbacks: SourceCallbacks
        let host: UnsafeMutablePointer<switchyard_source_host>
    }
    private struct State: @unchecked Sendable {
        var lines: [UInt: Line] = [:]
    }
    private static let state = Monitor(State())

    /// Returns the table that is lent to a module for this instance.
    static func connect(_ callbacks: SourceCallbacks, lineLimit: Int) -> UnsafePointer<switchyard_source_host> {
        let host = UnsafeMutablePointer<switchyard_source_host>.allocate(capacity: 1)
        let number: UInt = state.withLock { state in
            let number = UInt(state.lines.count) + 1
            state.lines[number] = Line(callbacks: callbacks, host: host)
            return number
        }
        host.initialize(
            to: switchyard_source_host(
                abi_version: SWITCHYARD_SOURCE_ABI_VERSION, struct_size: UInt32(MemoryLayout<switchyard_source_host>.size),
                context: UnsafeMutableRawPointer(bitPattern: number), most_line: UInt64(lineLimit),
                log: { context, level, message in SourceRegistry.find(context)?.log(level, message) },
                submit: { context, block in SourceRegistry.find(context)?.submit(block) ?? SWITCHYARD_CLOSING.rawValue },
                behind: { context, events, milliseconds in SourceRegistry.find(context)?.behind(events, milliseconds) },
                state: { context, kind, message in SourceRegistry.find(context)?.note(kind, message) },
                ended: { context, message in SourceRegistry.find(context)?.ended(message) }))
        return UnsafePointer(host)
    }

    private static func find(_ context: UnsafeMutableRawPointer?) -> SourceCallbacks? {
        let number = UInt(bitPattern: context)
        return state.withLock { $0.lines[number]?.callbacks }
    }
}
