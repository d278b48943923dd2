// Helpers of the adapter tests: a host that records its calls, temporary folders, and the C side of the interface.

import FoundationEssentials
import Glibc
import PluginKit
import Testing

/// A host that records the messages that it gets.
final class HostRecorder: Sendable {
    private let heard = Monitor<(logs: [String], closed: [String])>(([], []))
    var logs: [String] { heard.withLock { $0.logs } }
    var closed: [String] { heard.withLock { $0.closed } }
    var host: Host {
        Host(
            log: { _, message in self.heard.withLock { $0.logs.append(message) } },
            closed: { message in
                self.heard.withLock { $0.closed.append(message) }
                self.heard.wake()
            })
    }
    func waitForClosed() {
        heard.wait(while: { $0.closed.isEmpty })
    }
}

/// A folder that is removed together with the value.
final class TemporaryFolder: Sendable {
    let path: String
    init() {
        var template = Array("/tmp/adapter-tests-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
    func text(_ name: String) -> String? {
        FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }
    func write(_ name: String, _ text: String) { _ = FileManager.default.createFile(atPath: path + "/" + name, contents: Data(text.utf8)) }
    func mode(_ name: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path + "/" + name))?[.posixPermissions] as? Int
    }
}

/// A host as a module sees it through the C interface.
final class CHost {
    struct Done: Equatable {
        var token: UInt64
        var kind: UInt32
        var code: Int32
        var after: UInt64
        var message: String
        var events: [UInt64: UInt32]
    }

    final class Record: Sendable {
        let done = Monitor<[Done]>([])
        let logs = Monitor<[String]>([])
        /// The questions of the module, and the rule that answers them. A question about all events has no list.
        let asked = Monitor<Asked>(Asked())
    }

    struct Asked: Sendable {
        var questions: [(token: UInt64, events: [UInt64]?)] = []
        var mayBegin: @Sendable ([UInt64]?) -> Bool = { _ in true }
    }

    let record = Record()
    let raw: UnsafeMutablePointer<switchyard_host>

    init(version: UInt32 = SWITCHYARD_ABI_VERSION) {
        raw = .allocate(capacity: 1)
        raw.initialize(
            to: switchyard_host(
                abi_version: version, struct_size: UInt32(MemoryLayout<switchyard_host>.size),
                context: Unmanaged.passUnretained(record).toOpaque(),
                log: { context, level, message in
                    CHost.record(context).logs.withLock { $0.append("\(level) \(CHost.text(message))") }
                },
                complete: { context, token, batch, events, count in
                    let batch = batch!.pointee
                    let list = UnsafeBufferPointer(start: events, count: count)
                    let done = Done(
                        token: token, kind: batch.kind, code: batch.code, after: batch.retry_after_ms, message: CHost.text(batch.message),
                        events: Dictionary(uniqueKeysWithValues: list.map { ($0.index, $0.outcome.kind) }))
                    let record = CHost.record(context)
                    record.done.withLock { $0.append(done) }
                    record.done.wake()
                },
                closed: { _, _ in },
                may_begin: { context, token, events, count in
                    let record = CHost.record(context)
                    let list = events.map { Array(UnsafeBufferPointer(start: $0, count: count)) }
                    return record.asked.withLock { asked in
                        asked.questions.append((token, list))
                        return asked.mayBegin(list) ? 1 : 0
                    }
                }))
    }

    deinit { raw.deallocate() }

    var done: [Done] { record.done.withLock { $0 } }
    var logs: [String] { record.logs.withLock { $0 } }

    static func record(_ context: UnsafeMutableRawPointer?) -> Record { Unmanaged.fromOpaque(context!).takeUnretainedValue() }
    static func text(_ bytes: switchyard_bytes) -> String {
        String(decoding: UnsafeBufferPointer(start: bytes.data, count: bytes.size), as: UTF8.self)
    }
}

extension UnsafePointer<switchyard_plugin> {
    func create(_ host: CHost, _ settings: String, room: Int = 256) -> (instance: UnsafeMutableRawPointer?, error: String) {
        var error = [CChar](repeating: 1, count: room)
        var settings = settings
        let instance = settings.withUTF8 {
            pointee.create(host.raw, switchyard_bytes(data: $0.baseAddress, size: $0.count), &error, room)
        }
        return (instance, instance == nil ? String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "")
    }

    /// Delivers a batch from memory that is freed after the call has returned.
    func deliver(_ instance: UnsafeMutableRawPointer, _ events: [String], token: UInt64) {
        var bytes: [UInt8] = []
        let ends = events.map { event in
            bytes += Array((event + "\n").utf8)
            return UInt64(bytes.count)
        }
        let arrivals = events.map { _ in Int64(0) }
        bytes.withUnsafeBufferPointer { bytes in
            ends.withUnsafeBufferPointer { ends in
                arrivals.withUnsafeBufferPointer { arrivals in
                    var batch = switchyard_batch(
                        struct_size: UInt32(MemoryLayout<switchyard_batch>.size), attempt: 1, token: token,
                        ndjson: switchyard_bytes(data: bytes.baseAddress, size: bytes.count), ends: ends.baseAddress,
                        arrivals: arrivals.baseAddress, count: events.count)
                    pointee.deliver(instance, &batch)
                }
            }
        }
    }
}

extension Outcome {
    /// The outcome as text, such as "retry 28: the message", "delivered" or "0 delivered; retry 28: the message".
    var text: String {
        switch self {
        case .delivered: "delivered"
        case .rejected(let code, let message): "rejected \(code): \(message)"
        case .retry(let code, let message, _): "retry \(code): \(message)"
        case .unknown(let code, let message): "unknown \(code): \(message)"
        case .fault(let code, let message): "fault \(code): \(message)"
        case .closed(let message): "closed: \(message)"
        case .untried: "untried"
        case .mixed(let rest, let events): "\(events.map { "\($0.index) \($0.outcome.text)" }.joined(separator: ", ")); \(rest.text)"
        }
    }
}
