// The functions that a module may call, and the deliveries under way for one instance. A callback names its instance by a number
// and its delivery by a token. Neither is a pointer. So a callback that is repeated, late or invalid finds nothing and does no harm.

internal import CSwitchyardPlugin
internal import Delivery
internal import Document
internal import Platform
internal import Queueing

/// The host's callbacks for one instance. They live as long as the process, and so does the table that is lent to the module:
/// a thread that the module has not joined may still use them after destroy.
final class Callbacks: Sendable {
    /// The memory that is lent to a module for one delivery: the events, and the struct that points to them.
    final class Borrow: @unchecked Sendable {
        private let batch: any BorrowedBatch
        let table = UnsafeMutablePointer<switchyard_batch>.allocate(capacity: 1)

        init(_ batch: any BorrowedBatch, attempt: Int, token: UInt64) {
            self.batch = batch
            assert(batch.ends.count == batch.arrivals.count, "an event has no arrival time")
            assert(Int(batch.ends.last ?? 0) == batch.bytes.count, "the module would read events after the end of the batch")
            table.initialize(
                to: switchyard_batch(
                    struct_size: UInt32(MemoryLayout<switchyard_batch>.size), attempt: UInt32(clamping: attempt), token: token,
                    ndjson: switchyard_bytes(
                        data: batch.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), size: batch.bytes.count),
                    ends: batch.ends.baseAddress, arrivals: batch.arrivals.baseAddress, count: batch.count))
        }

        deinit { table.deallocate() }

        var count: Int { batch.count }
    }

    private struct UnderWay {
        /// The batch that is lent to the module. It is nil for a flush.
        let loan: Borrow?
        /// Asks whether events may leave. It is nil for a flush.
        let asking: Asking?
        /// True if a question about this delivery was answered with no.
        var isRefused = false
        let done: @Sendable (BatchOutcome) -> Void
    }

    private struct UnderErasure {
        /// The number of its subjects.
        let count: Int
        let done: @Sendable (ErasureAnswer) -> Void
    }

    private struct State {
        var underWay: [UInt64: UnderWay] = [:]
        var erasures: [UInt64: UnderErasure] = [:]
        var strays = 0
        var handler: (@Sendable (Answer) -> Void)?
        var gone: Answer?
        var ended = false
    }

    /// The texts that nothing of the module may show.
    let hidden: HiddenTexts
    private let outcome: ForeignOutcome
    private let gate: LogGate
    private let state = Monitor(State())
    /// The number by which the module names the instance. It is 0 before the instance has one.
    private let number = Monitor<UInt>(0)

    func connect(as number: UInt) { self.number.withLock { $0 = number } }

    /// What a module passes back to name the instance.
    var context: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: number.withLock { $0 }) }

    init(
        provider: String, module: String, hidden: HiddenTexts, clock: Clock, log: @escaping @Sendable (LogLevel, String) -> Void
    ) {
        self.hidden = hidden
        outcome = ForeignOutcome(module: module, hidden: hidden)
        gate = LogGate(provider: provider, clock: clock, log: log)
    }

    /// The number of completions of deliveries that were not under way: never begun, already ended, or of a closed instance.
    var strays: Int { state.withLock { $0.strays } }

    // MARK: From the host

    func begin(
        _ batch: any BorrowedBatch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) -> Borrow {
        let token = CallbackRegistry.nextToken()
        let loan = Borrow(batch, attempt: attempt, token: token)
        state.withLock { $0.underWay[token] = UnderWay(loan: loan, asking: asking, done: done) }
        return loan
    }

    func beginFlush(_ done: @escaping @Sendable (Outcome) -> Void) -> UInt64 {
        let token = CallbackRegistry.nextToken()
        state.withLock { $0.underWay[token] = UnderWay(loan: nil, asking: nil, done: { done($0.batch) }) }
        return token
    }

    func beginErasure(of count: Int, _ done: @escaping @Sendable (ErasureAnswer) -> Void) -> UInt64 {
        let token = CallbackRegistry.nextToken()
        state.withLock { $0.erasures[token] = UnderErasure(count: count, done: done) }
        return token
    }

    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {
        let gone: Answer? = state.withLock { state in
            guard let gone = state.gone, !state.ended else {
                state.handler = handler
                return nil
            }
            return gone
        }
        if let gone { handler(gone) }
    }

    /// Ends all deliveries and erasures under way as unknown. From then on the module's callbacks have no effect, except that completions are counted.
    /// Returns the memory that is still lent to the module. The caller must keep it until destroy has returned.
    func end() -> [Borrow] {
        let (left, erasures): ([UnderWay], [UnderErasure]) = state.withLock { state in
            state.ended = true
            state.handler = nil
            defer {
                state.underWay = [:]
                state.erasures = [:]
            }
            return (state.underWay.sorted { $0.key < $1.key }.map(\.value), state.erasures.sorted { $0.key < $1.key }.map(\.value))
        }
        gate.end()
        let closed = Outcome.unknown(Answer("the provider was closed before the module answered"))
        for one in left { one.done(BatchOutcome(closed)) }
        for one in erasures { one.done(ErasureAnswer(closed)) }
        return left.compactMap(\.loan)
    }

    // MARK: From the module

    func complete(
        _ token: UInt64, batch: UnsafePointer<switchyard_outcome>?, events: UnsafePointer<switchyard_event_outcome>?, count: Int
    ) {
        let found: UnderWay? = state.withLock { state in
            let found = state.underWay.removeValue(forKey: token)
            if found == nil { state.strays += 1 }
            return found
        }
        guard let found else { return }
        found.done(outcome.read(batch, events: events, count: count, of: found.loan?.count ?? 0, wasRefused: found.isRefused))
    }

    /// Returns true if these events of a delivery may leave now. A question that makes no sense is answered with no.
    func mayBegin(_ token: UInt64, events: UnsafePointer<UInt64>?, count: Int) -> Bool {
        guard let found = state.withLock({ $0.underWay[token] }), let asking = found.asking, let total = found.loan?.count else {
            return false
        }
        var list: UnsafeBufferPointer<UInt64>?
        if let events, count >= 0 { list = UnsafeBufferPointer(start: events, count: count) }
        // The lane is asked while no lock is held here, since it takes locks of its own.
        if list?.allSatisfy({ $0 < UInt64(total) }) ?? true, asking(list) { return true }
        state.withLock { $0.underWay[token]?.isRefused = true }
        return false
    }

    func erased(
        _ token: UInt64, _ whole: UnsafePointer<switchyard_outcome>?, subjects: UnsafePointer<switchyard_event_outcome>?, count: Int,
        newState: switchyard_bytes
    ) {
        let found: UnderErasure? = state.withLock { state in
            let found = state.erasures.removeValue(forKey: token)
            if found == nil { state.strays += 1 }
            return found
        }
        guard let found else { return }
        found.done(outcome.read(erasure: whole, subjects: subjects, count: count, of: found.count, state: newState))
    }

    func log(_ level: Int32, _ message: switchyard_bytes) {
        guard !state.withLock({ $0.ended }) else { return }
        gate.say(LogLevel(rawValue: min(max(level, 0), 3))!) { ForeignText.read(message, most: 4096, hiding: hidden) }
    }

    func closed(_ message: switchyard_bytes) {
        let answer = Answer(ForeignText.read(message, most: 4096, hiding: hidden))
        let handler: (@Sendable (Answer) -> Void)? = state.withLock { state in
            guard state.gone == nil, !state.ended else { return nil }
            defer { state.handler = nil }
            state.gone = answer
            return state.handler
        }
        handler?(answer)
    }
}

/// The severity of a line that a module logs.
public enum LogLevel: Int32, Sendable, Comparable, CaseIterable {
    case debug
    case information
    case warning
    case error

    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// Finds the instance for the number in a callback.
enum CallbackRegistry {
    private struct Line {
        let callbacks: Callbacks
        let host: UnsafeMutablePointer<switchyard_host>
    }
    private struct State: @unchecked Sendable {
        var lines: [UInt: Line] = [:]
        var lastToken: UInt64 = 0
    }
    private static let state = Monitor(State())

    /// Returns the table that is lent to a module for this instance.
    static func connect(_ callbacks: Callbacks) -> UnsafePointer<switchyard_host> {
        let host = UnsafeMutablePointer<switchyard_host>.allocate(capacity: 1)
        let number: UInt = state.withLock { state in
            let number = UInt(state.lines.count) + 1
            assert(state.lines[number] == nil, "two instances have the same number")
            state.lines[number] = Line(callbacks: callbacks, host: host)
            return number
        }
        callbacks.connect(as: number)
        host.initialize(
            to: switchyard_host(
                abi_version: SWITCHYARD_ABI_VERSION, struct_size: UInt32(MemoryLayout<switchyard_host>.size),
                context: UnsafeMutableRawPointer(bitPattern: number),
                log: { context, level, message in CallbackRegistry.find(context)?.log(level, message) },
                complete: { context, token, batch, events, count in
                    CallbackRegistry.find(context)?.complete(token, batch: batch, events: events, count: count)
                },
                closed: { context, message in CallbackRegistry.find(context)?.closed(message) },
                may_begin: { context, token, events, count in
                    CallbackRegistry.find(context)?.mayBegin(token, events: events, count: count) == true ? 1 : 0
                }))
        return UnsafePointer(host)
    }

    /// Returns a token that is unique in this process. So a token of another instance or of an earlier delivery is always detected.
    static func nextToken() -> UInt64 {
        state.withLock { state in
            state.lastToken += 1
            return state.lastToken
        }
    }

    /// The function with which a module ends an erasure.
    static let erased:
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafePointer<switchyard_outcome>?, UnsafePointer<switchyard_event_outcome>?, Int,
            switchyard_bytes
        ) -> Void = { context, token, outcome, subjects, count, state in
            CallbackRegistry.find(context)?.erased(token, outcome, subjects: subjects, count: count, newState: state)
        }

    private static func find(_ context: UnsafeMutableRawPointer?) -> Callbacks? {
        let number = UInt(bitPattern: context)
        return state.withLock { $0.lines[number]?.callbacks }
    }
}
