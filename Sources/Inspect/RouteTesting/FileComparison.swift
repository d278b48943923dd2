// Compares two configurations as files: which sections, providers and routes are new, gone or changed, and which of their keys. Values are not
// shown, since they may be secret. Pure: two trees in, lines out.

public import Document

public enum FileComparison {
    /// Returns one line for each change, in the order of the new file.
    public static func lines(old: Node, new: Node) -> [String] {
        var lines: [String] = []
        for name in names(old, new) where name != "providers" && name != "routes" {
            switch (old[name], new[name]) {
            case (nil, _?): lines.append("\(name) is new")
            case (_?, nil): lines.append("\(name) is gone")
            case (let before?, let after?): if let keys = changes(before, after) { lines.append("\(name) changed" + keys) }
            default: break
            }
        }
        lines += compare("provider", table(old["providers"]), table(new["providers"]))
        let (before, after) = (routes(old), routes(new))
        lines += compare("route", before, after)
        let kept = before.map(\.name).filter { name in after.contains { $0.name == name } }
        if kept != after.map(\.name).filter({ kept.contains($0) }) { lines.append("the order of the routes changed") }
        return lines.map(Words.visible)
    }

    private static func compare(_ what: String, _ old: [(name: String, node: Node)], _ new: [(name: String, node: Node)]) -> [String] {
        var lines: [String] = []
        for (name, node) in new {
            guard let before = old.first(where: { $0.name == name })?.node else {
                lines.append("\(what) \(name) is new")
                continue
            }
            if let keys = changes(before, node) { lines.append("\(what) \(name) changed" + keys) }
        }
        return lines + old.filter { one in !new.contains { $0.name == one.name } }.map { "\(what) \($0.name) is gone" }
    }

    /// Returns the names of the keys that differ, as the rest of a sentence. Returns nil if nothing differs.
    private static func changes(_ old: Node, _ new: Node) -> String? {
        guard JSONValue(old) != JSONValue(new) || order(old) != order(new) else { return nil }
        guard old.entries != nil, new.entries != nil else { return "" }
        let keys = names(old, new).filter { key in
            guard let before = old[key], let after = new[key] else { return true }
            return JSONValue(before) != JSONValue(after)
        }
        return keys.isEmpty ? ": the order of its keys" : ": \(keys.joined(separator: ", "))"
    }

    private static func order(_ node: Node) -> [String] { node.entries?.map(\.key.name) ?? [] }

    private static func names(_ old: Node, _ new: Node) -> [String] {
        let now = order(new)
        return now + order(old).filter { !now.contains($0) }
    }

    private static func table(_ node: Node?) -> [(name: String, node: Node)] { node?.entries?.map { ($0.key.name, $0.node) } ?? [] }

    private static func routes(_ root: Node) -> [(name: String, node: Node)] {
        (root["routes"]?.items ?? []).enumerated().map { index, node in (node["name"]?.text?.written ?? "routes[\(index)]", node) }
    }
}
