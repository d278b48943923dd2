// A module: its checked file and its description. Its library is loaded when it is first needed in this process, only once,
// and it is never unloaded.
//
// To load a module is to trust it: the dynamic linker runs its constructors before any code here can check its table. All checks that
// need no loading come first (TrustedFile, LibraryImage), and the router reads the description in a separate process (Describer). The
// other checks protect against mistakes, not against malice.

internal import CSwitchyardPlugin
public import Document
internal import Glibc
public import Plans
public import Platform

public final class Module: Sendable {
    /// The path of the module's file, with links resolved.
    public var path: String { file.path }
    public let description: ModuleDescription
    let file: TrustedFile

    /// Reads the description of the module in that file.
    init(_ file: TrustedFile, described describer: Describer = .here) throws(ModuleFault) {
        self.file = file
        description = try describer.describe(file)
    }

    /// Makes a provider. `settings` is one JSON object that was checked against the description. `name` is the provider's name in
    /// routes.json, and every line that it logs begins with it. If the module refuses the settings, the fault is the module's own message.
    /// `hidden` is masked in all texts of the module before they are shown or stored.
    public func make(
        settings: Secret, name: String, hiding hidden: HiddenTexts = HiddenTexts(), clock: Clock = .system,
        log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) -> ModuleInstance {
        let visitor = ExitGuard.Visitor.enter(name, path: path)
        let tables = try visitor.during(.load) { () throws(ModuleFault) in try Module.tables(file) }
        guard let table = tables.provider else { throw ModuleFault("the module \(description.name) (\(path)) offers no provider") }
        let callbacks = Callbacks(provider: name, module: description.name, hidden: hidden, clock: clock, log: log)
        // The table lives as long as the process, so any thread may use it.
        nonisolated(unsafe) let host = CallbackRegistry.connect(callbacks)
        let made = visitor.attempt { Created(settings, hidden: hidden) { table.create(host, $0, $1, $2) } }
        guard case .success(let created) = made, let handle = created.handle else {
            _ = callbacks.end()
            throw refusal(made)
        }
        return ModuleInstance(
            table: table, handle: handle, asks: description.asks, byHand: description.byHand, callbacks: callbacks, visitor: visitor)
    }

    /// Returns why a call of create has made nothing.
    func refusal(_ made: Result<Created, ExitGuard.Exited>) -> ModuleFault {
        let whose = "the module \(description.name) (\(path))"
        switch made {
        case .success(let created) where !created.error.isEmpty: return ModuleFault(created.error)
        case .success: return ModuleFault("\(whose) refuses the settings and gives no reason")
        case .failure(let exited):
            return ModuleFault("\(whose) called exit(\(exited.code)) in create; a module refuses settings by returning NULL")
        }
    }

    /// The result of a call of create.
    struct Created: @unchecked Sendable {
        let handle: UnsafeMutableRawPointer?
        let error: String

        init(
            _ settings: Secret, hidden: HiddenTexts,
            create: (switchyard_bytes, UnsafeMutablePointer<CChar>?, Int) -> UnsafeMutableRawPointer?
        ) {
            (handle, error) = settings.bytes.withUnsafeBufferPointer { settings in
                withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
                    buffer.initialize(repeating: 0)
                    let handle = create(
                        switchyard_bytes(data: settings.baseAddress, size: settings.count), buffer.baseAddress, buffer.count)
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

    /// The loaded libraries by file. A file is loaded only once.
    private static let libraries = Monitor<[FileIdentity: Loaded]>([:])

    /// Returns the tables of the module in that file. It loads the library unless it was loaded before.
    static func tables(_ file: TrustedFile) throws(ModuleFault) -> ModuleTables {
        let loaded = try libraries.withLock { libraries throws(ModuleFault) in
            if let known = libraries[file.identity] { return known }
            let library = try Library(copying: file)
            let loaded = Loaded(library: library, handle: try library.load())
            libraries[file.identity] = loaded
            ExitGuard.note(library: try library.pathOfDescriptor(), of: file.path)
            return loaded
        }
        return try ModuleTables(of: loaded.handle, path: file.path)
    }
}
