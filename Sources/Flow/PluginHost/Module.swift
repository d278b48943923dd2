// A provider module: its file, checked, and its description, read. Its library is loaded when the first provider is made of it, once, and
// never unloaded.
//
// Loading is trust: the dynamic linker runs a module's constructors before anything in here can look at its table. What can be
// checked before is checked before (TrustedFile, LibraryImage), and the description is read in a process of its own (Describer); the
// rest guards against mistakes, not against malice.

internal import CSwitchyardPlugin
public import Document
internal import Glibc
public import Plans
public import Platform

public final class Module: Sendable {
    /// The file it was loaded from, without links.
    public var path: String { file.path }
    public let description: ModuleDescription
    private let file: TrustedFile

    /// The module in that file, as it describes itself.
    init(_ file: TrustedFile, described describer: Describer = .here) throws(ModuleFault) {
        self.file = file
        description = try describer.describe(file)
    }

    /// Makes a provider. `settings` is one JSON object, checked against the description; `name` is the provider's own name in
    /// routes.json, with which every line that it logs begins. A refusal is told in the module's own words.
    /// `hidden` is masked in everything that the module says, before anyone sees or keeps it.
    public func make(
        settings: Secret, name: String, hiding hidden: HiddenTexts = HiddenTexts(), clock: Clock = .system,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) -> ModuleInstance {
        let visitor = ExitGuard.Visitor.enter(name, path: path)
        let table = try visitor.during(.load) { () throws(ModuleFault) in try Module.table(file).calls }
        let callbacks = Callbacks(provider: name, module: description.name, hidden: hidden, clock: clock, log: log)
        // It is kept for the life of the process, whatever thread the module is made on.
        nonisolated(unsafe) let host = Switchboard.connect(callbacks)
        let made = visitor.attempt { Created(table, host, settings, hidden) }
        guard case .success(let created) = made, let handle = created.handle else {
            _ = callbacks.end()
            let whose = "the module \(description.name) (\(path))"
            switch made {
            case .success(let created) where !created.error.isEmpty: throw ModuleFault(created.error)
            case .success: throw ModuleFault("\(whose) refuses the settings and gives no reason")
            case .failure(let exited):
                throw ModuleFault("\(whose) called exit(\(exited.code)) in create; a module refuses settings by returning NULL")
            }
        }
        return ModuleInstance(table: table, handle: handle, callbacks: callbacks, visitor: visitor)
    }

    /// What came of a call of create.
    private struct Created: @unchecked Sendable {
        let handle: UnsafeMutableRawPointer?
        let error: String

        init(_ table: switchyard_plugin, _ host: UnsafePointer<switchyard_host>, _ settings: Secret, _ hidden: HiddenTexts) {
            (handle, error) = settings.bytes.withUnsafeBufferPointer { settings in
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
        }
    }

    // MARK: - Loading

    private struct Loaded: @unchecked Sendable {
        let library: Library
        let handle: UnsafeMutableRawPointer
    }

    /// What the linker has taken, by file; it does not take a file twice.
    private static let libraries = Monitor<[FileIdentity: Loaded]>([:])

    /// The table of the module in that file, whose library is loaded, or found among those that were loaded before.
    static func table(_ file: TrustedFile) throws(ModuleFault) -> ModuleTable {
        let loaded = try libraries.withLock { libraries throws(ModuleFault) in
            if let known = libraries[file.identity] { return known }
            let library = try Library(copying: file)
            let loaded = Loaded(library: library, handle: try library.load())
            libraries[file.identity] = loaded
            ExitGuard.note(library: try library.pathOfDescriptor(), of: file.path)
            return loaded
        }
        return try ModuleTable(of: loaded.handle, path: file.path)
    }
}
