// Reads the cases of an adapter: a file with the settings and events that lead to each outcome. The settings of a case pass the same
// checks as those in routes.json.

import Configuration
import Document
import Glibc
import Plans
import Platform
import PluginHost

struct Case {
    var name: String
    /// The settings of the provider: the JSON of each by its name.
    var settings: [String: String]
    var expects: String
    var events: [String]
    /// The target of standard output during the case. It is nil if the target does not matter.
    var output: String?
    /// A file that gets one line for each event that arrives at the destination. It is nil if there is no such file.
    var arrives: String?

    static let kinds = ["delivered", "rejected", "retry", "unknown", "fault", "closed", "partial", "refused"]
    static let events = [
        #"{"type":"track","event":"contract_began","messageId":"c-1","userId":"u1","properties":{"n":1.0}}"#,
        #"{"type":"track","event":"contract \u2028 \u0000 \"odd\"","messageId":"c-2","properties":{"text":"käse 🧀 \\ / \n"}}"#,
        #"{}"#,
    ]
}

/// Settings of a source, and what it hands over.
struct SourceCase {
    var name: String
    /// The settings of the source: the JSON of each by its name.
    var settings: [String: String]
    /// How many lines it hands over at least, without an acknowledgement.
    var lines: Int
    /// True if it reports its end after its lines were acknowledged.
    var ends: Bool
    /// True if create must refuse the settings.
    var isRefused: Bool
}

struct Cases {
    var all: [Case]
    var sources: [SourceCase] = []

    /// Reads the cases. Without a file there is one case: a provider without settings, which must deliver.
    static func read(_ file: String?, folder: String) throws -> Cases {
        guard let file else {
            return Cases(all: [Case(name: "without settings", settings: [:], expects: "delivered", events: Case.events)])
        }
        func wrong(_ what: String) -> ModuleFault { ModuleFault("\(file): \(what)") }
        var text: [UInt8]
        do throws(SystemFault) { text = try Files.contents(file) } catch { throw wrong("cannot be read: \(error)") }
        text = replacing("${dir}", in: text, by: folder)
        text = replacing("${http}", in: text, by: getenv(FakeServer.variable).map { String(cString: $0) } ?? "http://127.0.0.1:1")
        let source = Source(text)
        let root: Node
        do throws(LocatedFault) {
            try Syntax.check(source)
            (root, _) = try Outline.read(source, resolving: nil)
        } catch {
            let place = source.place(of: error.offset)
            throw ModuleFault("\(file):\(place.line):\(place.column): \(error.message)")
        }
        let sources = try sourceCases(root["sources"], in: source, wrong)
        let cases = root["cases"]?.items ?? []
        guard !cases.isEmpty || !sources.isEmpty, cases.allSatisfy({ $0.entries != nil }) else {
            throw wrong("must be an object with a list of 'cases' or of 'sources'")
        }
        return Cases(
            all: try cases.enumerated().map { number, entry in
                let known = ["name", "settings", "expects", "events", "output", "arrives"]
                if let key = entry.entries?.map(\.key.name).sorted().first(where: { !known.contains($0) }) {
                    throw wrong("cases[\(number)]: unknown key '\(key)'")
                }
                guard let expects = entry["expects"]?.text?.value, Case.kinds.contains(expects) else {
                    throw wrong("cases[\(number)].expects must be one of \(Case.kinds.joined(separator: ", "))")
                }
                let settings = (entry["settings"]?.entries ?? []).map { ($0.key.name, JSONText.of($0.node, in: source)) }
                return Case(
                    name: entry["name"]?.text?.value ?? "case \(number + 1)", settings: Dictionary(settings) { $1 }, expects: expects,
                    events: entry["events"]?.items?.map { JSONText.of($0, in: source) } ?? Case.events,
                    output: entry["output"]?.text?.value, arrives: entry["arrives"]?.text?.value)
            }, sources: sources)
    }

    private static func sourceCases(_ list: Node?, in source: Source, _ wrong: (String) -> ModuleFault) throws -> [SourceCase] {
        try (list?.items ?? []).enumerated().map { number, entry in
            let known = ["name", "settings", "lines", "ends", "refused"]
            guard let entries = entry.entries, entries.allSatisfy({ known.contains($0.key.name) }) else {
                throw wrong("sources[\(number)] must be an object with \(known.joined(separator: ", "))")
            }
            var lines = 0
            if case .number(let text)? = entry["lines"]?.value { lines = Int(text) ?? 0 }
            func isTrue(_ name: String) -> Bool {
                guard case .bool(let value)? = entry[name]?.value else { return false }
                return value
            }
            guard lines > 0 || isTrue("refused") else { throw wrong("sources[\(number)].lines must be a number of at least 1") }
            let settings = (entry["settings"]?.entries ?? []).map { ($0.key.name, JSONText.of($0.node, in: source)) }
            return SourceCase(
                name: entry["name"]?.text?.value ?? "source \(number + 1)", settings: Dictionary(settings) { $1 }, lines: lines,
                ends: isTrue("ends"), isRefused: isTrue("refused"))
        }
    }

    private static func replacing(_ word: String, in text: [UInt8], by value: String) -> [UInt8] {
        let word = Array(word.utf8)
        var result: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            if rest.starts(with: word) {
                result += value.utf8
                rest = rest.dropFirst(word.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result
    }

    /// The case whose settings and events all other checks use.
    var good: Case? { all.first { $0.expects == "delivered" && $0.output == nil } }
}

/// Returns the plan of a source with these settings, read from a routes.json like in the router.
func sourcePlan(_ module: String, _ settings: [String: String], in folders: ModuleFolders) throws -> ModuleSourcePlan {
    let members = settings.sorted { $0.key < $1.key }.map { (name: $0.key, json: $0.value) }
    let source = JSONText.object(members.filter { $0.name != "plugin" } + [("plugin", JSONText.quoted(module))])
    let text = #"{"sources":{"in":\#(source)},"providers":{"out":{"plugin":"contract-nowhere"}},"routes":[{"to":["out"]}]}"#
    let file = RoutesFile(
        environment: { _ in nil }, contents: { _ in .failure(PlaceholderFault("no files here")) }, catalog: OnlyModule(folders))
    guard let plan = try file.read(Array(text.utf8), file: "routes.json").sources[0].module else {
        throw ModuleFault("the source \(module) is not that of a module")
    }
    return plan
}

/// Returns the plan of a provider with these settings, read from a routes.json like in the router.
func plan(_ module: String, _ settings: [String: String], in folders: ModuleFolders) throws -> ProviderPlan {
    let members = settings.sorted { $0.key < $1.key }.map { (name: $0.key, json: $0.value) }
    let provider = JSONText.object(members.filter { $0.name != "plugin" } + [("plugin", JSONText.quoted(module))])
    let text = #"{"providers":{"out":\#(provider)},"routes":[{"to":["out"]}]}"#
    let file = RoutesFile(
        environment: { _ in nil }, contents: { _ in .failure(PlaceholderFault("no files here")) }, catalog: folders)
    return try file.read(Array(text.utf8), file: "routes.json").providers[0]
}

/// The modules of a folder, and a provider that takes nothing, so that a routes.json with only a source is complete.
private struct OnlyModule: ModuleCatalog {
    private let folders: ModuleFolders
    private static let nowhere = "contract-nowhere"

    init(_ folders: ModuleFolders) { self.folders = folders }

    var names: [String] { folders.names + [OnlyModule.nowhere] }

    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        guard module == OnlyModule.nowhere else { return try folders.description(of: module) }
        return ModuleDescription(name: module, version: "1", summary: "", settings: SettingsSchema.ObjectRules())
    }
}
