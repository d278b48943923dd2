// Loads what the command line names: the plan, other input files, and the path of the state folder.

internal import Audit
public import Configuration
internal import Document
internal import Glibc
internal import MerkleLog
public import Plans
public import Platform
public import PluginHost
internal import Terminal

public enum Loading {
    public static let defaultFile = "routes.json"

    /// Returns the plan of a run. `http` is an additional address to listen at.
    public static func runnable(_ file: String, _ catalog: ModuleFolders, http: ListenAddress? = nil) throws -> Plan {
        var plan = try plan(file, catalog)
        if let http { plan.listen(at: http) }
        return plan
    }

    /// Values that stand for variables of the environment and for files in placeholders.
    public struct Substitutes: Sendable {
        public var environment: [String: String]
        public var files: [String: String]

        public init(environment: [String: String] = [:], files: [String: String] = [:]) {
            self.environment = environment
            self.files = files
        }
    }

    public static func plan(_ file: String, _ catalog: ModuleFolders, _ substitutes: Substitutes = Substitutes()) throws -> Plan {
        try document(file, catalog, substitutes).plan
    }

    /// Returns the plan with the tree that it was read from. `reading` is called with each file before it is read.
    public static func document(
        _ file: String, _ catalog: ModuleFolders, _ substitutes: Substitutes = Substitutes(),
        reading: @escaping (String) -> Void = { _ in }
    ) throws -> RoutesFile.Document {
        let text: [UInt8]
        reading(file)
        switch input(file, most: RoutesFile.largest + 1) {
        case .success(let bytes): text = bytes
        case .failure(let fault):
            let way = file == defaultFile ? "; name another with -c FILE, or write the smallest one:\n" + smallest : ""
            throw ConfigurationFailure(lines: ["\(printable(file)): \(fault)\(way)"])
        }
        let reader = RoutesFile(
            environment: { name in substitutes.environment[name] ?? getenv(name).map { String(cString: $0) } },
            contents: { path in
                if let text = substitutes.files[path] { return .success(Array(text.utf8)) }
                reading(path)
                return contents(of: path, most: 1 << 20).mapError { PlaceholderFault($0.description) }
            },
            catalog: catalog)
        do throws(ConfigurationFaults) {
            var document = try reader.document(text, file: file)
            document.plan.keepText(text)
            return document
        } catch {
            throw ConfigurationFailure(lines: error.faults.map(\.description))
        }
    }

    private static let smallest = #"  { "providers": { "out": { "plugin": "console" } }, "routes": [ { "to": ["out"] } ] }"#

    /// Reads at most `most` bytes of what the command line names: a file, or `-` for standard input. A byte order mark is left out.
    public static func input(_ word: String, most: Int) -> Result<[UInt8], SystemFault> {
        let input = word == "-" ? read(dup(0), most: most) : contents(of: word, most: most)
        return input.map { FileBeginning.mark($0) == 0 ? $0 : Array($0.dropFirst(3)) }
    }

    /// Reads at most `most` bytes of a file. Here `-` is an ordinary file name, since standard input carries the events.
    private static func contents(of path: String, most: Int) -> Result<[UInt8], SystemFault> {
        read(open(path, O_RDONLY | O_CLOEXEC), most: most)
    }

    private static func read(_ number: Int32, most: Int) -> Result<[UInt8], SystemFault> {
        guard number >= 0 else { return .failure(SystemFault()) }
        let descriptor = Descriptor(owning: number)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < most {
            let n = Glibc.read(descriptor.number, &chunk, min(chunk.count, most - bytes.count))
            if n == 0 { break }
            if n > 0 {
                bytes += chunk[..<n]
            } else if errno != EINTR {
                return .failure(SystemFault())
            }
        }
        return .success(bytes)
    }

    /// Returns true if the state folder was named, so that it belongs to this router.
    public static func namesStateFolder(_ given: String?) -> Bool { given != nil || variable("STATE_DIRECTORY") != nil }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Returns the path of the folder for dead letters and for everything else that outlives a run.
    public static func stateFolder(_ given: String?) -> String {
        if let given { return given }
        if let systemd = variable("STATE_DIRECTORY") { return systemd }
        if let state = variable("XDG_STATE_HOME") { return state + "/switchyard" }
        let home = variable("HOME") ?? getpwuid(getuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) } ?? ""
        return home + "/.local/state/switchyard"
    }
}

extension Plan {
    /// Keeps the text of the file for the audit trail, with "(secret)" for the keys and for everything that no output may show.
    fileprivate mutating func keepText(_ text: [UInt8]) {
        guard audit != nil else { return }
        let keys = HiddenTexts(keys.map { String(decoding: $0.secret.bytes, as: UTF8.self) })
        let masked = Array(keys.masked(hidden.masked(String(decoding: text, as: UTF8.self))).utf8)
        self.text = PlanText(bytes: masked, hash: hex(Digest(of: masked).bytes))
    }

    /// Adds an HTTP source. In a plan without sources it replaces the default source.
    fileprivate mutating func listen(at address: ListenAddress) {
        guard !sources.contains(where: { $0.http?.listen == address }) else { return }
        let named = namedSources ?? []
        var source = SourcePlan(name: named.contains { $0.name == "http" } ? "--http" : "http", plugin: "http")
        source.http = HTTPSourcePlan()
        source.http?.listen = address
        namedSources = named + [source]
    }
}
