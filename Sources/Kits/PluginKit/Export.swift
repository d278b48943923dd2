// Makes the C table of an adapter. It promises that no Swift value crosses the C interface: errors become text, and outcomes become C
// structs.

internal import Glibc

/// Returns the table of a provider. The only symbol that a module exports calls it.
public func export<P: Provider>(_ type: P.Type) -> UnsafePointer<switchyard_plugin> {
    table(of: type) { (settings, link) throws in SequentialInstance(try P(settings: settings, host: Host(link: link)), link) }
}

/// Returns the table of a provider that handles several batches at once.
public func export<P: ConcurrentProvider>(_ type: P.Type) -> UnsafePointer<switchyard_plugin> {
    table(of: type) { (settings, link) throws in ConcurrentInstance(try P(settings: settings, host: Host(link: link)), link) }
}

/// The object behind the host's `instance` pointer.
class Instance {
    let adapter: any Adapter
    let link: HostLink

    init(_ adapter: any Adapter, _ link: HostLink) {
        self.adapter = adapter
        self.link = link
    }

    func deliver(_ delivery: consuming Delivery) { delivery.finish(.fault("the module cannot deliver")) }
    func flush(_ completion: consuming Completion) { completion.finish(.delivered) }
}

private final class SequentialInstance<P: Provider>: Instance {
    private let provider: P
    init(_ provider: P, _ link: HostLink) {
        self.provider = provider
        super.init(provider, link)
    }
    override func deliver(_ delivery: consuming Delivery) {
        let outcome = provider.deliver(delivery.batch)
        delivery.finish(outcome)
    }
    override func flush(_ completion: consuming Completion) { completion.finish(provider.flush()) }
}

private final class ConcurrentInstance<P: ConcurrentProvider>: Instance {
    private let provider: P
    init(_ provider: P, _ link: HostLink) {
        self.provider = provider
        super.init(provider, link)
    }
    override func deliver(_ delivery: consuming Delivery) { provider.deliver(delivery) }
    override func flush(_ completion: consuming Completion) { provider.flush(completion) }
}

// MARK: - Tables

private struct Exported: @unchecked Sendable {
    let type: ObjectIdentifier
    let description: UnsafeMutableBufferPointer<UInt8>
    let make: @Sendable (Settings, HostLink) throws -> Instance
    let table: UnsafeMutablePointer<switchyard_plugin>
}

/// All tables. A table lives as long as the process. It is in a global variable, so that leak checkers see it.
private let exported = Monitor<[Exported]>([])

/// `describe` and `create` get no context, so each table has its own pair of functions, which knows only the table's index. A module needs
/// one pair. A test that links all adapters needs one for each.
private let describers: [@convention(c) () -> switchyard_bytes] = [
    { describe(0) }, { describe(1) }, { describe(2) }, { describe(3) },
    { describe(4) }, { describe(5) }, { describe(6) }, { describe(7) },
    { describe(8) }, { describe(9) }, { describe(10) }, { describe(11) },
    { describe(12) }, { describe(13) }, { describe(14) }, { describe(15) },
    { describe(16) }, { describe(17) }, { describe(18) }, { describe(19) },
    { describe(20) }, { describe(21) }, { describe(22) }, { describe(23) },
    { describe(24) }, { describe(25) }, { describe(26) }, { describe(27) },
    { describe(28) }, { describe(29) }, { describe(30) }, { describe(31) },
]
private typealias Creator =
    @convention(c) (
        UnsafePointer<switchyard_host>?, switchyard_bytes, UnsafeMutablePointer<CChar>?, Int
    ) -> UnsafeMutableRawPointer?
private let creators: [Creator] = [
    { create(0, host: $0, settings: $1, error: $2, size: $3) }, { create(1, host: $0, settings: $1, error: $2, size: $3) },
    { create(2, host: $0, settings: $1, error: $2, size: $3) }, { create(3, host: $0, settings: $1, error: $2, size: $3) },
    { create(4, host: $0, settings: $1, error: $2, size: $3) }, { create(5, host: $0, settings: $1, error: $2, size: $3) },
    { create(6, host: $0, settings: $1, error: $2, size: $3) }, { create(7, host: $0, settings: $1, error: $2, size: $3) },
    { create(8, host: $0, settings: $1, error: $2, size: $3) }, { create(9, host: $0, settings: $1, error: $2, size: $3) },
    { create(10, host: $0, settings: $1, error: $2, size: $3) }, { create(11, host: $0, settings: $1, error: $2, size: $3) },
    { create(12, host: $0, settings: $1, error: $2, size: $3) }, { create(13, host: $0, settings: $1, error: $2, size: $3) },
    { create(14, host: $0, settings: $1, error: $2, size: $3) }, { create(15, host: $0, settings: $1, error: $2, size: $3) },
    { create(16, host: $0, settings: $1, error: $2, size: $3) }, { create(17, host: $0, settings: $1, error: $2, size: $3) },
    { create(18, host: $0, settings: $1, error: $2, size: $3) }, { create(19, host: $0, settings: $1, error: $2, size: $3) },
    { create(20, host: $0, settings: $1, error: $2, size: $3) }, { create(21, host: $0, settings: $1, error: $2, size: $3) },
    { create(22, host: $0, settings: $1, error: $2, size: $3) }, { create(23, host: $0, settings: $1, error: $2, size: $3) },
    { create(24, host: $0, settings: $1, error: $2, size: $3) }, { create(25, host: $0, settings: $1, error: $2, size: $3) },
    { create(26, host: $0, settings: $1, error: $2, size: $3) }, { create(27, host: $0, settings: $1, error: $2, size: $3) },
    { create(28, host: $0, settings: $1, error: $2, size: $3) }, { create(29, host: $0, settings: $1, error: $2, size: $3) },
    { create(30, host: $0, settings: $1, error: $2, size: $3) }, { create(31, host: $0, settings: $1, error: $2, size: $3) },
]

private func table<A: Adapter>(
    of type: A.Type, _ make: @escaping @Sendable (Settings, HostLink) throws -> Instance
) -> UnsafePointer<switchyard_plugin> {
    exported.withLock { exported in
        if let known = exported.first(where: { $0.type == ObjectIdentifier(type) }) { return UnsafePointer(known.table) }
        let place = exported.count
        assert(describers.count == creators.count, "a table has no function that describes it")
        precondition(place < creators.count, "a module exports one provider")
        let canErase = type is any Eraser.Type || type is any SubjectEraser.Type
        let text = Array(type.description.json(erase: canErase).utf8)
        let description = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = description.initialize(from: text)
        let table = UnsafeMutablePointer<switchyard_plugin>.allocate(capacity: 1)
        table.initialize(
            to: switchyard_plugin(
                abi_version: SWITCHYARD_ABI_VERSION, struct_size: UInt32(MemoryLayout<switchyard_plugin>.size),
                describe: describers[place], create: creators[place],
                deliver: { raw, batch in
                    let instance = instance(raw)
                    let completion = Completion(link: instance.link, token: batch!.pointee.token)
                    instance.deliver(Delivery(batch: Batch(batch!, askedOf: instance.link), completion: completion))
                },
                flush: { raw, token in
                    let instance = instance(raw)
                    instance.flush(Completion(link: instance.link, token: token))
                },
                destroy: { raw in
                    let instance = Unmanaged<Instance>.fromOpaque(raw!).takeRetainedValue()
                    instance.adapter.close()
                    instance.link.end()
                },
                reopen: { raw in instance(raw).adapter.reopen() },
                erase: type is any Eraser.Type ? erase : nil,
                preview: type is any Previewer.Type ? preview : nil,
                probe: type is any Prober.Type ? probe : nil,
                erase_subjects: type is any SubjectEraser.Type ? eraseSubjects : nil))
        exported.append(Exported(type: ObjectIdentifier(type), description: description, make: make, table: table))
        return UnsafePointer(table)
    }
}

private func instance(_ raw: UnsafeMutableRawPointer?) -> Instance { Unmanaged<Instance>.fromOpaque(raw!).takeUnretainedValue() }

private func describe(_ place: Int) -> switchyard_bytes {
    let text = exported.withLock { $0[place] }.description
    return switchyard_bytes(data: text.baseAddress, size: text.count)
}

private func create(
    _ place: Int, host: UnsafePointer<switchyard_host>?, settings: switchyard_bytes, error: UnsafeMutablePointer<CChar>?, size: Int
) -> UnsafeMutableRawPointer? {
    do {
        guard let host else { throw SettingsFault("the router passed no host") }
        guard host.pointee.abi_version == SWITCHYARD_ABI_VERSION else {
            throw SettingsFault(
                "the router has version \(host.pointee.abi_version) of the plugin interface; the module has \(SWITCHYARD_ABI_VERSION)"
            )
        }
        let settings = try Settings(json: UnsafeRawBufferPointer(start: settings.data, count: settings.size))
        let make = exported.withLock { $0[place] }.make
        return Unmanaged.passRetained(try make(settings, HostLink(host))).toOpaque()
    } catch let fault {
        put("\(fault)", into: UnsafeMutableRawBufferPointer(start: error, count: error == nil ? 0 : size))
        return nil
    }
}

/// Copies the text into the buffer, cut between characters. A zero byte inside it would end the text early, so it becomes a space.
func put(_ text: String, into buffer: UnsafeMutableRawBufferPointer) {
    guard buffer.count > 0 else { return }
    let bytes = Array(text.utf8)
    var length = min(bytes.count, buffer.count - 1)
    while length > 0, length < bytes.count, bytes[length] & 0xC0 == 0x80 { length -= 1 }
    precondition(length < buffer.count, "the text and its final zero byte do not fit into the buffer")
    for index in 0..<length { buffer[index] = bytes[index] == 0 ? UInt8(ascii: " ") : bytes[index] }
    buffer[length] = 0
}

private let erase: @convention(c) (UnsafeMutableRawPointer?, switchyard_bytes, UInt64) -> Void = { raw, subjects, token in
    let instance = instance(raw)
    let completion = Completion(link: instance.link, token: token)
    // The kit parses only objects, so the list becomes the only member of an object.
    let list = String(decoding: UnsafeRawBufferPointer(start: subjects.data, count: subjects.size), as: UTF8.self)
    guard let ids = (try? Settings(json: "{\"subjects\":\(list)}"))?.get("subjects", as: [String].self),
        let eraser = instance.adapter as? any Eraser
    else { return completion.finish(.rejected("the subjects are not a JSON array of texts")) }
    completion.finish(eraser.erase(subjects: ids))
}

private let eraseSubjects: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<switchyard_erasure>?) -> Void = { raw, erasure in
    guard let erasure else { return }
    let instance = instance(raw)
    let ending = ErasureEnding(erasure)
    guard let eraser = instance.adapter as? any SubjectEraser, let erasure = Erasure(erasure) else {
        return instance.link.call { _ in ending.end(.init(.unknown("the subjects are not a JSON array of members and ids"), state: nil)) }
    }
    let answer = eraser.erase(erasure)
    // After the end of the instance the host may be gone.
    instance.link.call { _ in ending.end(answer) }
}

private let preview:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<switchyard_batch>?, UnsafePointer<switchyard_preview>?) -> Void = {
        raw, batch, sink in
        guard let previewer = instance(raw).adapter as? any Previewer, let batch, let sink else { return }
        previewer.preview(Batch(batch)).pass(to: sink)
    }

private typealias Found = @convention(c) (UnsafeMutableRawPointer?, UInt32, Int32, switchyard_bytes) -> Void
private let probe: @convention(c) (UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, Found?) -> Void = {
    raw, deadline, context, found in
    guard let prober = instance(raw).adapter as? any Prober else { return }
    let (kind, code, words) = prober.probe(within: Int(clamping: deadline)).parts
    words.withBytes { found?(context, UInt32(kind.rawValue), code, $0) }
}
