// Finds modules by name in known folders. A module is never found by a path from a configuration or an event.
//
// A name is [a-z0-9_-]+. The file of the module `dead-letter` is dead-letter.so, or libDeadLetter.so as a build names it. File names are
// compared without the prefix `lib` and the suffix `.so`, in lower case, and without '-' and '_'. The first folder with such a file
// counts. Two such files in one folder are a fault, since it is not clear which one is meant. A file whose name is not a module name is
// never loaded, since loading alone runs its code.

internal import Glibc
public import Plans
internal import Platform

public struct ModuleFolders: ModuleCatalog, Sendable {
    /// The folders in the order of the search.
    public let folders: [String]
    /// The folders of SWITCHYARD_PLUGINS that are skipped, and the reasons, as messages to the user.
    public let warnings: [ModuleFault]

    private let describer: Describer

    public init(_ folders: [String], describer: Describer = .here) { self.init(folders, warnings: [], describer) }

    private init(_ folders: [String], warnings: [ModuleFault], _ describer: Describer) {
        self.folders = folders
        self.warnings = warnings
        self.describer = describer
    }

    /// Takes the folders of the executable at that path and of the value of SWITCHYARD_PLUGINS, a list of absolute paths between colons.
    public init(executable: String, environment: String?, describer: Describer = .here) {
        let own = executable.lastIndex(of: "/").map { String(executable[..<$0]) } ?? ""
        var folders = [own + "/../lib/switchyard/plugins"]
        // A development build puts the modules beside the executable. An installed executable has no modules beside it, and
        // its folder bin/ is not searched.
        if access(own + "/libConsole.so", F_OK) == 0 { folders.append(own) }
        var warnings: [ModuleFault] = []
        for folder in (environment ?? "").split(separator: ":").map(String.init) {
            if !folder.hasPrefix("/") {
                warnings.append(
                    ModuleFault("SWITCHYARD_PLUGINS: \"\(ForeignText.harmless(folder))\" is left out; a folder needs its absolute path"))
            } else if Self.files(folder) == nil {
                warnings.append(ModuleFault("SWITCHYARD_PLUGINS: \(ForeignText.harmless(folder)) cannot be read: \(systemError())"))
            } else {
                folders.append(folder)
            }
        }
        self.init(folders, warnings: warnings, describer)
    }

    /// Returns the folders of this process, the router. Each module is described in a separate process.
    public static func standard() -> ModuleFolders {
        // If a newer file has replaced the executable, the link ends in " (deleted)". Only its folder is used.
        ModuleFolders(
            executable: readLink("/proc/self/exe") ?? "", environment: getenv("SWITCHYARD_PLUGINS").map { String(cString: $0) },
            describer: .process())
    }

    // MARK: - Finding

    public func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        try self.module(module)?.description
    }

    public func descriptions(of modules: [String]) -> [String: Result<ModuleDescription?, ModuleFault>] {
        let found = Self.atOnce(
            modules.map { name in
                { (name, Result { () throws(ModuleFault) in try description(of: name) }) }
            })
        return Dictionary(found) { first, _ in first }
    }

    /// The names of the modules by their file names. Nothing is loaded.
    public var names: [String] {
        Set(folders.flatMap { Self.files($0) ?? [] }.map { Self.plainName(of: $0) }).sorted()
    }

    /// Where modules are looked for, as the end of a message.
    public var places: String { "looked for in \(folders.map(ForeignText.harmless).joined(separator: ", "))" }

    /// Returns the module of that name, checked and described. It returns nil if there is none.
    public func module(_ name: String) throws(ModuleFault) -> Module? {
        guard Self.isName(name) else { return nil }
        for folder in folders {
            let matching = (Self.files(folder) ?? []).filter { Self.keys(of: $0).contains(Self.key(of: name)) }
            guard let file = matching.first else { continue }
            guard matching.count == 1 else {
                throw ModuleFault("\(folder): holds the module \(name) twice, as \(matching.joined(separator: " and ")); remove one")
            }
            let module = try Module(TrustedFile(folder + "/" + file), described: describer)
            guard module.description.name == name else {
                throw ModuleFault(
                    "\(module.path): was found by the name \"\(name)\", but describes itself as "
                        + "\"\(ForeignText.harmless(module.description.name))\"; the two must agree")
            }
            return module
        }
        return nil
    }

    /// Returns all installed modules, sorted by name, each with its description or its fault. It skips a file if an earlier folder has a
    /// file for the same module.
    public func installed() -> [InstalledModule] {
        var seen: Set<String> = []
        var result: [InstalledModule] = []
        var found: [(path: String, file: String)] = []
        for folder in folders {
            let all = Self.libraries(folder) ?? []
            for file in all where !Self.isFileName(file) { result.append(Self.refused(folder + "/" + file, file)) }
            for file in all where Self.isFileName(file) && seen.isDisjoint(with: Self.keys(of: file)) {
                seen.formUnion(Self.keys(of: file))
                found.append((folder + "/" + file, file))
            }
        }
        result += Self.atOnce(found.map { one in { load(one.path, one.file) } })
        return result.sorted { ($0.name, $0.path) < ($1.name, $1.path) }
    }

    /// Runs the jobs, up to eight at the same time, so that one that hangs does not delay the others. Returns the results in any order.
    private static func atOnce<R: Sendable>(_ jobs: [@Sendable () -> R]) -> [R] {
        guard jobs.count > 1 else { return jobs.map { $0() } }
        let state = Monitor((next: 0, results: [R]()))
        for _ in 0..<min(8, jobs.count) {
            Thread.start("describe") {
                while let job = state.withLock({ state -> (@Sendable () -> R)? in
                    guard state.next < jobs.count else { return nil }
                    state.next += 1
                    return jobs[state.next - 1]
                }) {
                    let result = job()
                    state.withLock { $0.results.append(result) }
                    state.wake()
                }
            }.detach()
        }
        return state.waitUntilReady { $0.results.count == jobs.count ? .ready($0.results) : .notBefore(nil) }
    }

    private func load(_ path: String, _ file: String) -> InstalledModule {
        do throws(ModuleFault) {
            let found = try Module(TrustedFile(path), described: describer)
            let name = found.description.name
            guard Self.isName(name), Self.keys(of: file).contains(Self.key(of: name)), try module(name)?.path == found.path else {
                throw ModuleFault(
                    "\(found.path): describes itself as \"\(ForeignText.harmless(name))\" and cannot be found by that name; "
                        + "rename the file after the module")
            }
            return InstalledModule(name: name, path: found.path, state: .success(found.description))
        } catch {
            return InstalledModule(name: Self.plainName(of: file), path: path, state: .failure(error))
        }
    }

    private static func refused(_ path: String, _ file: String) -> InstalledModule {
        let fault = ModuleFault(
            "\(ForeignText.harmless(path)): is not loaded because its file name is not a module name; rename it to NAME.so, where NAME has "
                + "only letters a to z, digits, '_' and '-'")
        return InstalledModule(name: ForeignText.harmless(plainName(of: file)), path: path, state: .failure(fault))
    }

    // MARK: - Names

    /// Returns true for `name.so`, and for `libName.so` as a build names it.
    private static func isFileName(_ file: String) -> Bool {
        let stem = String(file.dropLast(3))
        return isName(stem) || stem.hasPrefix("lib") && stem.utf8.allSatisfy { $0 < 0x80 } && isName(stem.lowercased())
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Returns the keys of all module names that the file can have. `library.so` can be the module `library` or the module `rary`.
    private static func keys(of file: String) -> [String] {
        let stem = String(file.dropLast(3))
        return [key(of: stem)] + (stem.hasPrefix("lib") ? [key(of: String(stem.dropFirst(3)))] : [])
    }

    private static func key(of name: String) -> String { name.lowercased().filter { $0 != "-" && $0 != "_" } }

    private static func plainName(of file: String) -> String {
        let stem = file.dropLast(3)
        return (stem.hasPrefix("lib") ? stem.dropFirst(3) : stem).lowercased()
    }

    /// Returns the files in a folder whose names are module names, sorted. It returns nil if the folder cannot be read.
    private static func files(_ folder: String) -> [String]? { libraries(folder)?.filter(isFileName) }

    /// Returns the shared libraries in a folder, sorted, without those that a build makes for the router itself. It returns nil if the
    /// folder cannot be read.
    private static func libraries(_ folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var result: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasSuffix(".so"), name.utf8.count > 3, !name.hasPrefix("."), !name.hasPrefix("libswitchyard-") else { continue }
            result.append(name)
        }
        return result.sorted()
    }
}
