// A provider module that was loaded: its table, checked, and its description, read. Its library is loaded once and never unloaded.
//
// Loading is trust: the dynamic linker runs a module's constructors before anything in here can look at its table. What can be
// checked before is checked before (TrustedFile); the rest guards against mistakes, not against malice.
//
// A module is loaded by the descriptor that was checked, so $ORIGIN in its own run path leads nowhere. The libraries it needs
// come from what the router has loaded already, from the executable's run path and from the system.

internal import CSwitchyardPlugin
public import Configuration
internal import Glibc
public import Platform

public final class Module: @unchecked Sendable {
    /// The file it was loaded from, without links.
    public let path: String
    public let description: ModuleDescription
    private let table: switchyard_plugin

    private static let mostDescription = 262_144

    private init(path: String, table: switchyard_plugin) throws(ModuleFault) {
        self.path = path
        self.table = table
        description = try Self.describe(table, path)
    }

    /// Makes a provider. `settings` is one JSON object, checked against the description; `name` is the provider's own name in
    /// routes.json, with which every line that it logs begins. A refusal is told in the module's own words.
    /// `hidden` is masked in everything that the module says, before anyone sees or keeps it.
    public func make(
        settings: Secret, name: String, hiding hidden: HiddenTexts = HiddenTexts(), clock: Clock = .system,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) -> ModuleInstance {
        let callbacks = Callbacks(provider: name, module: description.name, hidden: hidden, clock: clock, log: log)
        let host = Switchboard.connect(callbacks)
        let (handle, error): (UnsafeMutableRawPointer?, String) = settings.bytes.withUnsafeBufferPointer { settings in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
                buffer.initialize(repeating: 0)
                let handle = table.create(
                    host, switchyard_bytes(data: settings.baseAddress, size: settings.count), buffer.baseAddress, buffer.count)
                let text = buffer.withMemoryRebound(to: UInt8.self) { text in
                    let words = UnsafeBufferPointer(rebasing: text.prefix { $0 != 0 })
                    return ForeignText.read(words, most: text.count, hiding: hidden, isCut: words.count >= text.count - 4)
                }
                return (handle, text)
            }
        }
        guard let handle else {
            _ = callbacks.end()
            throw ModuleFault(error.isEmpty ? "the module \(description.name) (\(path)) refuses the settings and gives no reason" : error)
        }
        return ModuleInstance(table: table, handle: handle, callbacks: callbacks)
    }

    // MARK: - Loading

    /// What the linker has taken, by file; it would not take a file twice.
    private static let libraries = Monitor<[FileIdentity: UInt]>([:])

    /// Loads the module in that file, or finds its library among those that were loaded before.
    static func load(_ file: TrustedFile) throws(ModuleFault) -> Module {
        let library = try libraries.withLock { libraries throws(ModuleFault) in
            if let known = libraries[file.identity] { return known }
            let library = UInt(bitPattern: try open(file))
            libraries[file.identity] = library
            return library
        }
        return try Module(path: file.path, table: readTable(UnsafeMutableRawPointer(bitPattern: library)!, file.path))
    }

    private static func open(_ file: TrustedFile) throws(ModuleFault) -> UnsafeMutableRawPointer {
        let shownPath = try file.pathOfDescriptor()
        guard let library = dlopen(shownPath, RTLD_NOW | RTLD_LOCAL) else {
            throw ModuleFault("\(file.path): cannot be loaded: \(linkerError(without: shownPath))")
        }
        file.keepOpen()
        return library
    }

    private static func linkerError(without shownPath: String) -> String {
        guard let words = dlerror() else { return "the dynamic linker gave no reason" }
        let text = String(cString: words)
        let prefix = shownPath + ": "
        return ForeignText.harmless(text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text)
    }

    /// A copy of the module's table, in which what an older module does not have is NULL.
    private static func readTable(_ library: UnsafeMutableRawPointer, _ path: String) throws(ModuleFault) -> switchyard_plugin {
        typealias Entry = @convention(c) () -> UnsafeRawPointer?
        guard let symbol = dlsym(library, SWITCHYARD_PLUGIN_ENTRY) else {
            throw ModuleFault(
                "\(path): has no symbol \(SWITCHYARD_PLUGIN_ENTRY); it is not a Switchyard module, or does not export its entry")
        }
        guard let theirs = unsafeBitCast(symbol, to: Entry.self)() else {
            throw ModuleFault("\(path): \(SWITCHYARD_PLUGIN_ENTRY) returned no table; report it to the module's author")
        }
        let version = theirs.loadUnaligned(as: UInt32.self)
        guard version == SWITCHYARD_ABI_VERSION else {
            throw ModuleFault(
                "\(path): was built for version \(version) of the plugin interface, this router has version "
                    + "\(SWITCHYARD_ABI_VERSION); build the module against this router's switchyard_plugin.h")
        }
        let size = Int(theirs.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let least = MemoryLayout<switchyard_plugin>.offset(of: \.destroy)! + MemoryLayout<UnsafeRawPointer>.size
        guard size >= least else {
            throw ModuleFault(
                "\(path): its table has \(size) bytes, at least \(least) are needed; set struct_size to sizeof(switchyard_plugin)")
        }
        var table = switchyard_plugin()
        withUnsafeMutableBytes(of: &table) { ours in
            ours.copyMemory(from: UnsafeRawBufferPointer(start: theirs, count: min(size, ours.count)))
        }
        let missing = [
            ("describe", table.describe == nil), ("create", table.create == nil), ("deliver", table.deliver == nil),
            ("destroy", table.destroy == nil),
        ].filter(\.1).map(\.0)
        guard missing.isEmpty else {
            throw ModuleFault("\(path): its table lacks \(missing.joined(separator: ", ")); every module must have it")
        }
        return table
    }

    private static func describe(_ table: switchyard_plugin, _ path: String) throws(ModuleFault) -> ModuleDescription {
        let bytes = table.describe()
        guard let data = bytes.data, bytes.size != 0 else {
            throw ModuleFault("\(path): describes itself with nothing; describe must return a JSON object")
        }
        guard (1...mostDescription).contains(bytes.size) else {
            throw ModuleFault(
                "\(path): describes itself with \(UInt(bitPattern: bytes.size)) bytes, more than the \(mostDescription) allowed")
        }
        guard let json = String(validating: UnsafeBufferPointer(start: data, count: bytes.size), as: UTF8.self) else {
            throw ModuleFault("\(path): its description is not UTF-8")
        }
        do throws(ModuleFault) {
            return try ModuleDescription(json: json)
        } catch {
            throw ModuleFault("\(path): \(error)")
        }
    }
}
