// An adapter behind its C table, as the router sees it, with a host that records its calls.

internal import Glibc
public import PluginKit

/// The outcome that the host got for one delivery or flush.
public struct Ending: Equatable, Sendable, CustomStringConvertible {
    public var kind: UInt32
    public var code: Int32
    public var after: UInt64
    public var message: String
    public var events: [Int: String] = [:]
    /// The messages of single events.
    public var messages: [Int: String] = [:]

    public static let kinds = ["delivered", "rejected", "retry", "unknown", "fault", "closed", "untried"]
    public var name: String { Ending.kinds[Int(kind)] }
    /// The name of the outcome of one event of the batch: its own, or the one of the batch.
    public func outcome(of event: Int) -> String { events[event].map { String($0.prefix { $0 != " " }) } ?? name }
    public var description: String { "\(name) \(code) after \(after): \(message) \(events.sorted { $0.key < $1.key })" }
}

/// An instance of the adapter. The memory of a batch is overwritten and freed when its delivery ends.
public final class Instance: @unchecked Sendable {
    private struct State {
        var endings: [UInt64: [Ending]] = [:]
        var memory: [UInt64: [UnsafeMutableRawBufferPointer]] = [:]
        var last: UInt64 = 0
    }

    /// The target of the callbacks. It is not the instance: if a callback held the last reference, the instance would be destroyed inside
    /// it.
    private final class Record: Sendable {
        let state = Monitor(State())
        /// The rule that answers whether events may leave. A question about all events has no list.
        let mayBegin = Monitor<@Sendable ([UInt64]?) -> Bool>({ _ in true })

        func complete(
            _ token: UInt64, _ outcome: switchyard_outcome, _ events: UnsafePointer<switchyard_event_outcome>?, _ count: Int
        ) {
            func text(_ bytes: switchyard_bytes) -> String {
                String(decoding: UnsafeBufferPointer(start: bytes.data, count: bytes.size), as: UTF8.self)
            }
            var ending = Ending(kind: outcome.kind, code: outcome.code, after: outcome.retry_after_ms, message: text(outcome.message))
            for event in UnsafeBufferPointer(start: events, count: count) {
                ending.events[Int(event.index)] = Ending.kinds[Int(event.outcome.kind)] + " \(event.outcome.code)"
                ending.messages[Int(event.index)] = text(event.outcome.message)
            }
            state.withLock { state in
                for memory in state.memory.removeValue(forKey: token) ?? [] {
                    memory.initializeMemory(as: UInt8.self, repeating: 0xEE)
                    memory.deallocate()
                }
                state.endings[token, default: []].append(ending)
            }
            state.wake()
        }
    }

    private let record = Record()
    private var state: Monitor<State> { record.state }
    private let host = UnsafeMutablePointer<switchyard_host>.allocate(capacity: 1)
    private let table: UnsafePointer<switchyard_plugin>
    private var handle: UnsafeMutableRawPointer?

    /// Makes an instance. The test passes the table of its adapter and does not use the exported symbol: several adapters are linked into
    /// the tests, and the linker keeps only one symbol of that name.
    public init(of table: UnsafePointer<switchyard_plugin>, _ settings: String) throws {
        self.table = table
        Glibc.signal(SIGPIPE, SIG_IGN)
        host.initialize(
            to: switchyard_host(
                abi_version: SWITCHYARD_ABI_VERSION, struct_size: UInt32(MemoryLayout<switchyard_host>.size),
                context: Unmanaged.passUnretained(record).toOpaque(), log: { _, _, _ in },
                complete: { context, token, batch, events, count in
                    Unmanaged<Record>.fromOpaque(context!).takeUnretainedValue().complete(token, batch!.pointee, events, count)
                },
                closed: { _, _ in },
                may_begin: { context, _, events, count in
                    let record = Unmanaged<Record>.fromOpaque(context!).takeUnretainedValue()
                    let list = events.map { Array(UnsafeBufferPointer(start: $0, count: count)) }
                    return record.mayBegin.withLock { $0 }(list) ? 1 : 0
                }))
        var error = [CChar](repeating: 0, count: 512)
        var text = settings
        handle = text.withUTF8 {
            table.pointee.create(host, switchyard_bytes(data: $0.baseAddress, size: $0.count), &error, error.count)
        }
        if handle == nil { throw SettingsFault(String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)) }
    }

    /// Answers each later question of the adapter, whether events may leave, by this rule.
    public func answer(_ mayBegin: @escaping @Sendable ([UInt64]?) -> Bool) { record.mayBegin.withLock { $0 = mayBegin } }

    deinit {
        close()
        host.deallocate()
    }

    public func close() {
        guard let handle else { return }
        self.handle = nil
        table.pointee.destroy(handle)
    }

    func call(_ body: (UnsafePointer<switchyard_plugin>, UnsafeMutableRawPointer?) -> Void) { body(table, handle) }

    // MARK: - Inquiries

    /// A request of a preview.
    public struct Shown: Equatable, Sendable {
        public var method: String
        public var url: String
        public var headers: [String]
        public var body: String
        public var events: [Int]
    }

    public struct Previewed: Equatable, Sendable {
        public var requests: [Shown] = []
        public var refused: [Int: String] = [:]
        public var losses: [Int: [String]] = [:]

        public init() {}
    }

    private final class Sheet {
        var previewed = Previewed()
        static func of(_ context: UnsafeMutableRawPointer?) -> Sheet { Unmanaged<Sheet>.fromOpaque(context!).takeUnretainedValue() }
    }

    static func text(_ bytes: switchyard_bytes) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes.data, count: bytes.size), as: UTF8.self)
    }

    /// Returns what the adapter would send, or nil if it cannot say that.
    public func preview(_ events: [String], arrivals: [Int64]? = nil) -> Previewed? {
        guard let preview = table.pointee.preview else { return nil }
        var bytes: [UInt8] = []
        let ends = events.map { event in
            bytes += Array((event + "\n").utf8)
            return UInt64(bytes.count)
        }
        let sheet = Sheet()
        var sink = switchyard_preview(
            struct_size: UInt32(MemoryLayout<switchyard_preview>.size), context: Unmanaged.passUnretained(sheet).toOpaque(),
            request: { context, request in
                let request = request!.pointee
                let events = UnsafeBufferPointer(start: request.events, count: request.events_count).map { Int($0) }
                Sheet.of(context).previewed.requests.append(
                    Shown(
                        method: Instance.text(request.method), url: Instance.text(request.url),
                        headers: Instance.text(request.headers).split(separator: "\n").map(String.init), body: Instance.text(request.body),
                        events: events))
            },
            refused: { context, index, reason in Sheet.of(context).previewed.refused[Int(index)] = Instance.text(reason) },
            loses: { context, index, what in Sheet.of(context).previewed.losses[Int(index), default: []].append(Instance.text(what)) })
        withExtendedLifetime(sheet) {
            bytes.withUnsafeBufferPointer { bytes in
                ends.withUnsafeBufferPointer { ends in
                    (arrivals ?? events.map { _ in Int64(0) }).withUnsafeBufferPointer { arrivals in
                        var batch = switchyard_batch(
                            struct_size: UInt32(MemoryLayout<switchyard_batch>.size), attempt: 1, token: 0,
                            ndjson: switchyard_bytes(data: bytes.baseAddress, size: bytes.count), ends: ends.baseAddress,
                            arrivals: arrivals.baseAddress, count: events.count)
                        preview(handle, &batch, &sink)
                    }
                }
            }
        }
        return sheet.previewed
    }

    /// The answer of a probe.
    public struct Probed: Equatable, Sendable, CustomStringConvertible {
        public var name: String
        public var code: Int32
        public var message: String
        public var description: String { "\(name) \(code): \(message)" }
    }

    private final class Answers {
        var all: [Probed] = []
    }

    /// Asks the destination. Checks that there is one answer.
    public func probe(milliseconds: UInt64 = 600_000) -> Probed? {
        guard let probe = table.pointee.probe else { return nil }
        let answers = Answers()
        withExtendedLifetime(answers) {
            probe(handle, milliseconds, Unmanaged.passUnretained(answers).toOpaque()) { context, kind, code, message in
                let name = ["accepted", "refused", "reached", "failed"][Int(kind)]
                let answers = Unmanaged<Answers>.fromOpaque(context!).takeUnretainedValue()
                answers.all.append(Probed(name: name, code: code, message: Instance.text(message)))
            }
        }
        precondition(answers.all.count == 1, "a probe had \(answers.all.count) answers")
        return answers.all[0]
    }

    // MARK: - Deliveries

    /// Begins a delivery and returns its token.
    public func begin(_ events: [String], arrivals: [Int64]? = nil) -> UInt64 {
        var bytes: [UInt8] = []
        let ends = events.map { event in
            bytes += Array((event + "\n").utf8)
            return UInt64(bytes.count)
        }
        func keep<T>(_ values: [T]) -> UnsafeMutableRawBufferPointer {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, values.count * MemoryLayout<T>.stride), alignment: 8)
            values.withUnsafeBytes { memory.copyMemory(from: $0) }
            return memory
        }
        let memory = [keep(bytes), keep(ends), keep(arrivals ?? events.map { _ in Int64(0) })]
        let token: UInt64 = state.withLock { state in
            state.last += 1
            state.memory[state.last] = memory
            return state.last
        }
        var batch = switchyard_batch(
            struct_size: UInt32(MemoryLayout<switchyard_batch>.size), attempt: 1, token: token,
            ndjson: switchyard_bytes(data: memory[0].baseAddress?.assumingMemoryBound(to: UInt8.self), size: bytes.count),
            ends: memory[1].baseAddress?.assumingMemoryBound(to: UInt64.self),
            arrivals: memory[2].baseAddress?.assumingMemoryBound(to: Int64.self), count: events.count)
        table.pointee.deliver(handle, &batch)
        return token
    }

    public func beginFlush() -> UInt64 {
        let token: UInt64 = state.withLock { state in
            state.last += 1
            return state.last
        }
        table.pointee.flush(handle, token)
        return token
    }

    /// Waits for the end of a delivery and returns its outcome. Checks that it ended exactly once.
    public func ending(_ token: UInt64) -> Ending {
        let endings: [Ending] = state.waitUntilReady { state in
            guard let endings = state.endings[token] else { return .notBefore(nil) }
            return .ready(endings)
        }
        precondition(endings.count == 1, "a delivery ended \(endings.count) times")
        return endings[0]
    }

    public func hasEnded(_ token: UInt64) -> Bool { state.withLock { $0.endings[token] != nil } }

    public func deliver(_ events: [String] = ["{\"n\":1}"], arrivals: [Int64]? = nil) -> Ending {
        ending(begin(events, arrivals: arrivals))
    }
}
