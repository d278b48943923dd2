// What `check` prints: everything that the router understood of a configuration, section by section, in the order in which an event meets
// it. People read it as text, programs as JSON, and both hold the same words. No line shows a secret or a control character.

internal import Configuration
internal import Document
internal import Plans
internal import Platform

struct PlanSheet {
    /// One statement about its item.
    struct Line: Equatable {
        /// The key of routes.json that it is about.
        var key: String
        /// The word before the text, such as `filter`. It is empty if the text speaks for itself.
        var label = ""
        var text: String

        init(_ key: String, label: String = "", _ text: String) {
            self.key = key
            self.label = label
            self.text = text
        }

        fileprivate var words: String { printable(label.isEmpty ? text : "\(label): \(text)") }
    }

    /// A source, route or provider: its name, a summary and its lines. The stages follow the lines, and are numbered.
    struct Item {
        var name: String
        /// The sign between name and summary.
        var sign = ": "
        var summary: String
        var lines: [Line] = []
        var stages: [Line] = []
    }

    struct Section {
        /// The key of routes.json.
        var key: String
        var title: String
        /// The text behind the title. It is empty if the items say everything.
        var summary = ""
        var lines: [Line] = []
        var items: [Item] = []
    }

    let file: String
    private(set) var sections: [Section]

    /// `modules` are the files of the providers' modules, in the order of the providers. `sources` are those of sources, by their index.
    init(_ plan: Plan, file: String, modules: [String], sources: [Int: String] = [:]) {
        precondition(plan.providers.count == modules.count, "each provider has a module")
        self.file = file
        let words = PlanWords(plan)
        sections =
            [
                words.keys, words.sources(sources), words.limits, words.messageIDs, words.consent, words.emits, words.trackingPlan,
                words.routes,
                words.providers(modules), words.state, words.audit, words.shutdown, words.admin,
            ].compactMap { $0 }
    }

    /// The sheet for a person. `left` describes the state folder.
    func text(_ left: [String]? = nil) -> String {
        var lines = ["\(printable(file)) is good."]
        for section in sections {
            lines.append("")
            lines.append(section.title + (section.summary.isEmpty ? "" : ": " + printable(section.summary)))
            lines += section.lines.map { "  \($0.words)" }
            for item in section.items {
                lines.append("  \(printable(item.name))\(item.sign)\(printable(item.summary))")
                lines += item.lines.map { "    \($0.words)" }
                lines += item.stages.enumerated().map { "    \($0 + 1). \($1.words)" }
            }
        }
        if let left { lines += ["", "State folder"] + left.map { "  \($0)" } }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The sheet as one JSON object on one line, with the sections by their keys.
    func json(_ left: [String]? = nil) -> String {
        var members: [(name: String, json: String)] = [("file", jsonQuoted(file))]
        members += sections.map { ($0.key, json(of: $0)) }
        if let left { members.append(("left", JSONText.list(left.map(jsonQuoted)))) }
        return JSONText.object(members) + "\n"
    }

    private func json(of section: Section) -> String {
        var members: [(name: String, json: String)] = []
        if !section.summary.isEmpty { members.append(("summary", jsonQuoted(section.summary))) }
        if !section.lines.isEmpty { members.append(("lines", json(of: section.lines))) }
        if !section.items.isEmpty { members.append(("items", JSONText.list(section.items.map(json)))) }
        return JSONText.object(members)
    }

    private func json(of item: Item) -> String {
        var members = [(name: "name", json: jsonQuoted(item.name)), (name: "summary", json: jsonQuoted(item.summary))]
        if !item.lines.isEmpty { members.append(("lines", json(of: item.lines))) }
        if !item.stages.isEmpty { members.append(("stages", json(of: item.stages))) }
        return JSONText.object(members)
    }

    private func json(of lines: [Line]) -> String {
        JSONText.list(
            lines.map { line in
                let stage = line.label.isEmpty ? [] : [(name: "stage", json: jsonQuoted(line.label))]
                return JSONText.object([(name: "key", json: jsonQuoted(line.key))] + stage + [(name: "text", json: jsonQuoted(line.text))])
            })
    }
}
