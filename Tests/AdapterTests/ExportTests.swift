import Testing

@testable import NoOp
@testable import PluginKit

/// A provider whose outcome is the one named in its settings.
private final class Probe: Provider, Eraser {
    static let description = Description(name: "probe", version: "1", summary: "", settings: ["answer": .text("")])
    private let answer: String
    private let host: Host
    init(settings: Settings, host: Host) throws {
        self.host = host
        answer = settings.get("answer") ?? ""
        if answer.hasPrefix("refuse") { throw SettingsFault(answer) }
    }
    func deliver(_ batch: borrowing Batch) -> Outcome {
        switch answer {
        case "mixed": .mixed(rest: .rejected(code: 7, "no"), events: [(2, .retry("later", afterMilliseconds: 5)), (0, .delivered)])
        case "retry": .retry(code: 503, "busy", afterMilliseconds: 1500)
        case "closed": .closed("gone")
        case "fault": .fault(code: 401, "who?")
        case "unknown": .unknown("perhaps")
        default: batch.ndjson.elementsEqual("{}\n".utf8) ? .delivered : .rejected("these are \(batch.count)")
        }
    }
    func erase(subjects: [String]) -> Outcome { .rejected(code: subjects.count, subjects.joined(separator: "+")) }
    func reopen() { host.log(.warning, "reopened") }
    func close() { host.log(.debug, "closed") }
}

/// A provider that keeps a delivery until the test finishes it.
private final class PendingProvider: ConcurrentProvider {
    static let description = Description(name: "keeper", version: "1", summary: "", concurrency: 8)
    private struct Kept: ~Copyable, Sendable {
        var delivery: Delivery?
    }
    static let latest = Monitor<PendingProvider?>(nil)
    private let kept = Monitor(Kept())
    init(settings: Settings, host: Host) { PendingProvider.latest.withLock { $0 = self } }
    func deliver(_ delivery: consuming Delivery) {
        var taken: Delivery? = delivery
        kept.withLock { $0.delivery = taken.take() }
    }
    func finish(_ outcome: Outcome) {
        let delivery = kept.withLock { $0.delivery.take() }
        delivery?.finish(outcome)
    }
    func letGo() { kept.withLock { $0.delivery = nil } }
}

@Suite("the C table that export makes", .serialized)
struct ExportTests {
    @Test("the table names its version and size, describes itself, and is made once")
    func table() {
        let table = export(NoOpProvider.self)
        #expect(table == export(NoOpProvider.self))
        #expect(table.pointee.abi_version == SWITCHYARD_ABI_VERSION)
        #expect(Int(table.pointee.struct_size) == MemoryLayout<switchyard_plugin>.size)
        #expect(CHost.text(table.pointee.describe()) == NoOpProvider.description.json(erase: false))
        #expect(table.pointee.erase == nil)
        #expect(export(Probe.self).pointee.erase != nil)
        #expect(CHost.text(export(Probe.self).pointee.describe()).contains("\"erase\":true"))
    }

    @Test("noop discards events and logs their number at its end")
    func noop() {
        let table = export(NoOpProvider.self)
        let host = CHost()
        let instance = table.create(host, "{}").instance!
        table.deliver(instance, ["{}", "{\"a\":1}"], token: 5)
        table.pointee.flush(instance, 6)
        table.pointee.destroy(instance)
        #expect(host.done.map(\.token) == [5, 6])
        #expect(host.done.allSatisfy { $0.kind == SWITCHYARD_DELIVERED.rawValue })
        #expect(host.logs == ["0 discarded 2 events, 11 bytes"])
    }

    @Test("if settings are refused, the buffer holds the reason, cut between characters and without a zero byte inside")
    func refuses() {
        let table = export(Probe.self)
        let host = CHost()
        #expect(table.create(host, #"{"answer":"refuse: é\u0000x"}"#).error == "refuse: é x")
        #expect(table.create(host, #"{"answer":"refuse: é"}"#, room: 11).error == "refuse: é")
        #expect(table.create(host, #"{"answer":"refuse: é"}"#, room: 10).error == "refuse: ")
        #expect(table.create(host, #"{"answer":"refuse: é"}"#, room: 1).error == "")
        #expect(table.create(host, "{").error.hasPrefix("the settings are not a JSON object"))
        #expect(table.create(CHost(version: 9), "{}").error.contains("version 9 of the plugin interface; the module has 1"))
        #expect(table.pointee.create(host.raw, switchyard_bytes(data: nil, size: 0), nil, 0) == nil)
    }

    @Test("an outcome reaches the host with its code, its message and its time")
    func outcomes() {
        let table = export(Probe.self)
        for (answer, kind, code, after, message) in [
            ("retry", SWITCHYARD_RETRY, 503, 1500, "busy"), ("closed", SWITCHYARD_CLOSED, 0, 0, "gone"),
            ("fault", SWITCHYARD_FAULT, 401, 0, "who?"), ("unknown", SWITCHYARD_UNKNOWN, 0, 0, "perhaps"),
            ("", SWITCHYARD_DELIVERED, 0, 0, ""),
        ] as [(String, switchyard_outcome_kind, Int32, UInt64, String)] {
            let host = CHost()
            let instance = table.create(host, "{\"answer\":\"\(answer)\"}").instance!
            table.deliver(instance, ["{}"], token: 1)
            #expect(host.done == [.init(token: 1, kind: kind.rawValue, code: code, after: after, message: message, events: [:])])
            table.pointee.destroy(instance)
        }
    }

    @Test("single events with a different outcome are listed by rising index")
    func mixed() {
        let table = export(Probe.self)
        let host = CHost()
        let instance = table.create(host, #"{"answer":"mixed"}"#).instance!
        table.deliver(instance, ["{}", "{}", "{}"], token: 4)
        #expect(
            host.done == [
                .init(
                    token: 4, kind: SWITCHYARD_REJECTED.rawValue, code: 7, after: 0, message: "no",
                    events: [0: SWITCHYARD_DELIVERED.rawValue, 2: SWITCHYARD_RETRY.rawValue])
            ])
        table.pointee.destroy(instance)
    }

    @Test("reopen and erase reach the provider, and destroy closes it")
    func calls() {
        let table = export(Probe.self)
        let host = CHost()
        let instance = table.create(host, "{}").instance!
        table.pointee.reopen(instance)
        var subjects = #"["a","b"]"#
        subjects.withUTF8 { table.pointee.erase(instance, switchyard_bytes(data: $0.baseAddress, size: $0.count), 3) }
        table.pointee.destroy(instance)
        #expect(host.done.map(\.message) == ["a+b"])
        #expect(host.logs == ["2 reopened", "0 closed"])
    }

    @Test("a concurrent provider may finish a delivery later, from any thread")
    func finishesLater() {
        let table = export(PendingProvider.self)
        let host = CHost()
        let instance = table.create(host, "{}").instance!
        let keeper = PendingProvider.latest.withLock { $0! }
        table.deliver(instance, ["{}"], token: 8)
        #expect(host.done.isEmpty)
        Thread.start("finisher") { keeper.finish(.delivered) }.join()
        #expect(host.done.map(\.token) == [8])
        keeper.finish(.delivered)
        #expect(host.done.count == 1)
        table.pointee.destroy(instance)
    }

    @Test("a delivery that is destroyed without an outcome counts as unknown")
    func letGo() {
        let table = export(PendingProvider.self)
        let host = CHost()
        let instance = table.create(host, "{}").instance!
        table.deliver(instance, ["{}"], token: 2)
        PendingProvider.latest.withLock { $0! }.letGo()
        #expect(host.done.map(\.kind) == [SWITCHYARD_UNKNOWN.rawValue])
        table.pointee.destroy(instance)
    }

    @Test("an outcome after destroy does not reach the host, which may be gone")
    func late() {
        let table = export(PendingProvider.self)
        let host = CHost()
        let instance = table.create(host, "{}").instance!
        table.deliver(instance, ["{}"], token: 2)
        table.pointee.destroy(instance)
        PendingProvider.latest.withLock { $0! }.finish(.delivered)
        #expect(host.done.isEmpty)
    }
}
