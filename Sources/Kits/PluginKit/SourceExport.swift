// Makes the C table of a source. It promises that no Swift value crosses the C interface: errors become text, and blocks become C structs.

public import CSwitchyardPlugin
internal import Platform

/// Returns the table of a source. The symbol that a module with a source exports calls it. A module exports one source.
public func export<S: Source>(source type: S.Type) -> UnsafePointer<switchyard_source> {
    exported.withLock { exported in
        if let known = exported.first(where: { $0.type == ObjectIdentifier(type) }) { return UnsafePointer(known.table) }
        let place = exported.count
        precondition(place < describers.count, "a module exports one source")
        let text = Array(type.sourceDescription.json.utf8)
        let description = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = description.initialize(from: text)
        let table = UnsafeMutablePointer<switchyard_source>.allocate(capacity: 1)
        table.initialize(
            to: switchyard_source(
                abi_version: SWITCHYARD_SOURCE_ABI_VERSION, struct_size: UInt32(MemoryLayout<switchyard_source>.size),
                describe: describers[place], create: creators[place],
                start: { instance($0).source.start() },
                pause: { instance($0).source.pause() },
                resume: { instance($0).source.resume() },
                acknowledge: { raw, tokens, count in
                    instance(raw).source.acknowledge(Array(UnsafeBufferPointer(start: tokens, count: count)))
                },
                stop: { raw, time in instance(raw).source.stop(withinMilliseconds: Int(clamping: time)) },
                destroy: { raw in
                    let instance = Unmanaged<SourceHolder>.fromOpaque(raw!).takeRetainedValue()
                    instance.source.close()
                    instance.link.end()
                },
                probe: type is any SourceProber.Type ? probe : nil))
        exported.append(
            Exported(
                type: ObjectIdentifier(type), description: description,
                make: { settings, link in try S(settings: settings, host: SourceHost(link: link)) }, table: table))
        return UnsafePointer(table)
    }
}

/// The object behind the host's `instance` pointer.
private final class SourceHolder {
    let source: any Source
    let link: SourceLink

    init(_ source: any Source, _ link: SourceLink) {
        self.source = source
        self.link = link
    }
}

private struct Exported: @unchecked Sendable {
    let type: ObjectIdentifier
    let description: UnsafeMutableBufferPointer<UInt8>
    let make: @Sendable (Settings, SourceLink) throws -> any Source
    let table: UnsafeMutablePointer<switchyard_source>
}

/// All tables. A table lives as long as the process. It is in a global variable, so that leak checkers see it.
private let exported = Monitor<[Exported]>([])

/// `describe` and `create` get no context, so each table has its own pair of functions, which knows only the table's index. A module needs
/// one pair. A test that links several sources needs one for each.
private let describers: [@convention(c) () -> switchyard_bytes] = [
    { describe(0) }, { describe(1) }, { describe(2) }, { describe(3) }, { describe(4) }, { describe(5) }, { describe(6) }, { describe(7) },
]
private typealias Creator =
    @convention(c) (
        UnsafePointer<switchyard_source_host>?, switchyard_bytes, UnsafeMutablePointer<CChar>?, Int
    ) -> UnsafeMutableRawPointer?
private let creators: [Creator] = [
    { create(0, host: $0, settings: $1, error: $2, size: $3) }, { create(1, host: $0, settings: $1, error: $2, size: $3) },
    { create(2, host: $0, settings: $1, error: $2, size: $3) }, { create(3, host: $0, settings: $1, error: $2, size: $3) },
    { create(4, host: $0, settings: $1, error: $2, size: $3) }, { create(5, host: $0, settings: $1, error: $2, size: $3) },
    { create(6, host: $0, settings: $1, error: $2, size: $3) }, { create(7, host: $0, settings: $1, error: $2, size: $3) },
]

private func instance(_ raw: UnsafeMutableRawPointer?) -> SourceHolder {
    Unmanaged<SourceHolder>.fromOpaque(raw!).takeUnretainedValue()
}

private func describe(_ place: Int) -> switchyard_bytes {
    let text = exported.withLock { $0[place] }.description
    return switchyard_bytes(data: text.baseAddress, size: text.count)
}

private func create(
    _ place: Int, host: UnsafePointer<switchyard_source_host>?, settings: switchyard_bytes, error: UnsafeMutablePointer<CChar>?, size: Int
) -> UnsafeMutableRawPointer? {
    do {
        guard let host else { throw SettingsFault("the router passed no host") }
        guard host.pointee.abi_version == SWITCHYARD_SOURCE_ABI_VERSION else {
            throw SettingsFault(
                "the router has version \(host.pointee.abi_version) of the source interface; the module has "
                    + "\(SWITCHYARD_SOURCE_ABI_VERSION)")
        }
        let settings = try Settings(json: UnsafeRawBufferPointer(start: settings.data, count: settings.size))
        let make = exported.withLock { $0[place] }.make
        let link = SourceLink(host)
        return Unmanaged.passRetained(SourceHolder(try make(settings, link), link)).toOpaque()
    } catch let fault {
        put("\(fault)", into: UnsafeMutableRawBufferPointer(start: error, count: error == nil ? 0 : size))
        return nil
    }
}

private typealias Found = @convention(c) (UnsafeMutableRawPointer?, UInt32, Int32, switchyard_bytes) -> Void
private let probe: @convention(c) (UnsafeMutableRawPointer?, UInt64, UnsafeMutableRawPointer?, Found?) -> Void = {
    raw, deadline, context, found in
    guard let prober = instance(raw).source as? any SourceProber else { return }
    let (kind, code, words) = prober.probe(within: Int(clamping: deadline)).parts
    words.withBytes { found?(context, UInt32(kind.rawValue), code, $0) }
}
