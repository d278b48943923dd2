// The file beside an adapter that brings it to its outcomes, and the way from settings to an instance: through the same
// checks that routes.json goes through.

import Configuration
import Document
import Foundation
import Plans
import PluginHost

struct Case {
    var name: String
    /// JSON.
    var settings: [String: Any]
    var expects: String
    var events: [String]
    /// What standard output is while it runs; nil: nothing that matters.
    var output: String?
    /// A file that has one more line for each event that has arrived at the destination; nil: it cannot be looked at.
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

    /// Without a file there is one case: no settings, delivered.
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

    /// The one that everything else is tried with.
    var good: Case? { all.first { $0.expects == "delivered" && $0.output == nil } }
}

/// routes.json with one provider of these settings, as the router reads it.
func plan(_ module: String, _ settings: [String: Any], _ folders: ModuleFolders) throws -> ProviderPlan {
    var provider = settings
    provider["plugin"] = module
    let root: [String: Any] = ["providers": ["out": provider], "routes": [["to": ["out"]]]]
    let text = try JSONSerialization.data(withJSONObject: root, options: [.sortedKeys])
    let file = RoutesFile(
        environment: { _ in nil }, contents: { _ in .failure(PlaceholderFault("no files here")) }, catalog: folders)
    return try file.read([UInt8](text), file: "routes.json").providers[0]
}
