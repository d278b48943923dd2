// The tables of functions that a loaded library exports: that of a provider, that of a source, or both. They are checked and copied. The
// functions that an older module does not have are NULL in the copies.

internal import CSwitchyardPlugin
internal import Configuration
internal import Glibc
internal import Plans
internal import Platform

/// The descriptions of a module as it gives them: JSON that was not checked yet.
struct ModuleTexts: Sendable {
    var provider: String?
    var source: String?

    /// Reads and checks them. A module that offers both a provider and a source has one name.
    func read(of path: String) throws(ModuleFault) -> ModuleDescription {
        do throws(ModuleFault) {
            let provider = try self.provider.map { text throws(ModuleFault) in try ModuleDescription.read(json: text) }
            let source = try self.source.map { text throws(ModuleFault) in try SourceDescription.read(json: text) }
            guard let source else {
                guard let provider else { throw ModuleFault("it offers neither a provider nor a source") }
                return provider
            }
            guard var provider else { return ModuleDescription(only: source) }
            guard provider.name == source.name else {
                throw ModuleFault(
                    "its provider describes itself as \"\(provider.name)\" and its source as \"\(source.name)\"; the two must agree")
            }
            provider.source = source
            return provider
        } catch {
            throw ModuleFault("\(path): \(error)")
        }
    }
}

struct ModuleTables: @unchecked Sendable {
    let path: String
    let provider: switchyard_plugin?
    let source: switchyard_source?
    private static let mostDescription = 262_144

    init(of library: UnsafeMutableRawPointer, path: String) throws(ModuleFault) {
        self.path = path
        let providerEntry = Entry(
            symbol: SWITCHYARD_PLUGIN_ENTRY, version: SWITCHYARD_ABI_VERSION, interface: "plugin interface", header: "switchyard_plugin.h",
            type: "switchyard_plugin")
        let sourceEntry = Entry(
            symbol: SWITCHYARD_SOURCE_ENTRY, version: SWITCHYARD_SOURCE_ABI_VERSION, interface: "source interface",
            header: "switchyard_source.h", type: "switchyard_source")
        let provider = try providerEntry.read(
            switchyard_plugin(), of: library, path: path, upTo: MemoryLayout<switchyard_plugin>.offset(of: \.destroy)!)
        let source = try sourceEntry.read(
            switchyard_source(), of: library, path: path, upTo: MemoryLayout<switchyard_source>.offset(of: \.destroy)!)
        guard provider != nil || source != nil else {
            throw ModuleFault(
                "\(path): has no symbol \(SWITCHYARD_PLUGIN_ENTRY); it is not a Switchyard module, or does not export its entry")
        }
        if let provider {
            try Entry.has(
                [
                    ("describe", provider.describe == nil), ("create", provider.create == nil), ("deliver", provider.deliver == nil),
                    ("destroy", provider.destroy == nil),
                ], path)
        }
        if let source {
            try Entry.has(
                [
                    ("describe", source.describe == nil), ("create", source.create == nil), ("start", source.start == nil),
                    ("acknowledge", source.acknowledge == nil), ("stop", source.stop == nil), ("destroy", source.destroy == nil),
                ], path)
        }
        self.provider = provider
        self.source = source
    }

    /// Returns the descriptions as the module gives them.
    func describe() throws(ModuleFault) -> ModuleTexts {
        var texts = ModuleTexts()
        if let provider { texts.provider = try text(provider.describe()) }
        if let source { texts.source = try text(source.describe()) }
        return texts
    }

    private func text(_ bytes: switchyard_bytes) throws(ModuleFault) -> String {
        guard let data = bytes.data, bytes.size != 0 else {
            throw ModuleFault("\(path): describe returned nothing; it must return a JSON object")
        }
        guard (1...ModuleTables.mostDescription).contains(bytes.size) else {
            throw ModuleFault(
                "\(path): its description has \(UInt(bitPattern: bytes.size)) bytes, more than the \(ModuleTables.mostDescription) allowed"
            )
        }
        guard let json = String(validating: UnsafeBufferPointer(start: data, count: bytes.size), as: UTF8.self) else {
            throw ModuleFault("\(path): its description is not UTF-8")
        }
        return json
    }
}

/// One of the symbols that a module may export, which returns a table that begins with a version and a size.
private struct Entry {
    let symbol: String
    let version: UInt32
    let interface: String
    let header: String
    let type: String

    /// Returns a copy of the table, or nil if the library does not have the symbol. `last` is the offset of the last member that every
    /// module has.
    func read<Table>(
        _ empty: Table, of library: UnsafeMutableRawPointer, path: String, upTo last: Int
    ) throws(ModuleFault) -> Table? {
        typealias Function = @convention(c) () -> UnsafeRawPointer?
        guard let found = dlsym(library, symbol) else { return nil }
        guard let theirs = unsafeBitCast(found, to: Function.self)() else {
            throw ModuleFault("\(path): \(symbol) returned no table; report it to the module's author")
        }
        let version = theirs.loadUnaligned(as: UInt32.self)
        guard version == self.version else {
            throw ModuleFault(
                "\(path): was built for version \(version) of the \(interface), this router has version "
                    + "\(self.version); build the module against this router's \(header)")
        }
        let size = Int(theirs.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let least = last + MemoryLayout<UnsafeRawPointer>.size
        guard size >= least else {
            throw ModuleFault(
                "\(path): its table has \(size) bytes, at least \(least) are needed; set struct_size to sizeof(\(type))")
        }
        var table = empty
        withUnsafeMutableBytes(of: &table) { ours in
            ours.copyMemory(from: UnsafeRawBufferPointer(start: theirs, count: min(size, ours.count)))
        }
        return table
    }

    static func has(_ members: [(name: String, isMissing: Bool)], _ path: String) throws(ModuleFault) {
        let missing = members.filter(\.isMissing).map(\.name)
        guard missing.isEmpty else {
            throw ModuleFault("\(path): its table lacks \(missing.joined(separator: ", ")); every module must have it")
        }
    }
}
