// Reads the cases of an adapter: a file with the settings and events that lead to each outcome. The settings of a case pass the same
// checks as those in routes.json.

import Configuration
import Document
import Foundation
import Plans
import PluginHost

struct Case {
    var name: String
    /// The settings of the provider, as JSON.
    var settings: [String: Any]
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

struct Cases {
    var all: [Case]

    /// Reads the cases. Without a file there is one case: a provider without settings, which must deliver.
    static func read(_ file: String?, folder: String) throws -> Cases {
        guard let file else {
            return Cases(all: [Case(name: "without settings", settings: [:], expects: "delivered", events: Case.events)])
        }
        func wrong(_ what: String) -> ModuleFault { ModuleFault("\(file): \(what)") }
        let text = try String(contentsOfFile: file, encoding: .utf8).replacingOccurrences(of: "${dir}", with: folder)
            .replacingOccurrences(
                of: "${http}", with: ProcessInfo.processInfo.environment["SWITCHYARD_CONTRACT_HTTP"] ?? "http://127.0.0.1:1")
        guard let root = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            let cases = root["cases"] as? [[String: Any]], !cases.isEmpty
        else { throw wrong("must be an object with a list of 'cases'") }
        return Cases(
            all: try cases.enumerated().map { number, entry in
                let known = ["name", "settings", "expects", "events", "output", "arrives"]
                if let key = entry.keys.sorted().first(where: { !known.contains($0) }) {
                    throw wrong("cases[\(number)]: unknown key '\(key)'")
                }
                guard let expects = entry["expects"] as? String, Case.kinds.contains(expects) else {
                    throw wrong("cases[\(number)].expects must be one of \(Case.kinds.joined(separator: ", "))")
                }
                let events = try (entry["events"] as? [Any])?.map { event in
                    String(decoding: try JSONSerialization.data(withJSONObject: event, options: [.sortedKeys]), as: UTF8.self)
                }
                return Case(
                    name: entry["name"] as? String ?? "case \(number + 1)", settings: entry["settings"] as? [String: Any] ?? [:],
                    expects: expects, events: events ?? Case.events, output: entry["output"] as? String,
                    arrives: entry["arrives"] as? String)
            })
    }

    /// The case whose settings and events all other checks use.
    var good: Case? { all.first { $0.expects == "delivered" && $0.output == nil } }
}

/// Returns the plan of a provider with these settings, read from a routes.json like in the router.
func plan(_ module: String, _ settings: [String: Any], in folders: ModuleFolders) throws -> ProviderPlan {
    var provider = settings
    provider["plugin"] = module
    let root: [String: Any] = ["providers": ["out": provider], "routes": [["to": ["out"]]]]
    let text = try JSONSerialization.data(withJSONObject: root, options: [.sortedKeys])
    let file = RoutesFile(
        environment: { _ in nil }, contents: { _ in .failure(PlaceholderFault("no files here")) }, catalog: folders)
    return try file.read([UInt8](text), file: "routes.json").providers[0]
}
