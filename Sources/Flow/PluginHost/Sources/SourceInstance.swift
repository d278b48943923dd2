// One source of routes.json, made by a module in this process. It calls the module as switchyard_source.h promises. `ModuleSource` calls it
// from one thread at a time.

internal import CSwitchyardPlugin
public import Document
public import Ingest
public import Plans
public import Platform

public final class SourceInstance: SourceModule, @unchecked Sendable {
    let table: switchyard_source
    let handle: UnsafeMutableRawPointer
    let callbacks: SourceCallbacks
    let visitor: ExitGuard.Visitor
    private let hasClosed = Monitor(false)

    fileprivate init(table: switchyard_source, handle: UnsafeMutableRawPointer, callbacks: SourceCallbacks, visitor: ExitGuard.Visitor) {
        self.table = table
        self.handle = handle
        self.callbacks = callbacks
        self.visitor = visitor
    }

    /// The number of blocks that were handed over before the start or after the end.
    public var strayBlocks: Int { callbacks.strays }

    public func connect(_ receiver: any SourceReceiver) { callbacks.connect(receiver) }

    public func start() { visitor.during(.start) { table.start(handle) } }

    public func pause() {
        guard let pause = table.pause else { return }
        visitor.during(.pause) { pause(handle) }
    }

    public func resume() {
        guard let resume = table.resume else { return }
        visitor.during(.resume) { resume(handle) }
    }

    public func acknowledge(_ tokens: [UInt64]) {
        visitor.during(.acknowledge) { tokens.withUnsafeBufferPointer { table.acknowledge(handle, $0.baseAddress, $0.count) } }
    }

    public func stop(within time: Duration) {
        visitor.during(.stop) { table.stop(handle, UInt64(clamping: time.nanoseconds / 1_000_000)) }
    }

    public func close() {
        let isFirst = hasClosed.withLock { hasClosed in
            defer { hasClosed = true }
            return !hasClosed
        }
        guard isFirst else { return }
        visitor.during(.destroy) { table.destroy(handle) }
        callbacks.end()
    }
}

extension Module {
    /// Makes a source. `settings` is one JSON object that was checked against the description. `name` is the name of the source in
    /// routes.json, and every line that it logs begins with it. `lineLimit` is the longest line that is an event.
    public func makeSource(
        settings: Secret, name: String, lineLimit: Int, hiding hidden: HiddenTexts = HiddenTexts(), clock: Clock = .system,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) -> SourceInstance {
        let visitor = ExitGuard.Visitor.enter(name, path: path, isSource: true)
        let tables = try visitor.during(.load) { () throws(ModuleFault) in try Module.tables(file) }
        guard let table = tables.source else { throw ModuleFault("the module \(description.name) (\(path)) offers no source") }
        let callbacks = SourceCallbacks(source: name, hidden: hidden, clock: clock, log: log)
        // The table lives as long as the process, so any thread may use it.
        nonisolated(unsafe) let host = SourceRegistry.connect(callbacks, lineLimit: lineLimit)
        let made = visitor.attempt { Created(settings, hidden: hidden) { table.create(host, $0, $1, $2) } }
        guard case .success(let created) = made, let handle = created.handle else {
            callbacks.end()
            throw refusal(made)
        }
        return SourceInstance(table: table, handle: handle, callbacks: callbacks, visitor: visitor)
    }
}
