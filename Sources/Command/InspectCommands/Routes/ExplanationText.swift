// Renders an explanation as JSON, and for a person as text of 80 columns: each route with its stages and the event as it is delivered.

internal import Explaining
internal import Platform
internal import Terminal

extension Explanation {
    /// The explanation as one object on one line. `wires` has what a module would send for a route, by the index of the route.
    func json(_ wires: [Int: (provider: String, wire: Wire)] = [:]) -> String {
        let parts = routes.enumerated().map { index, route in
            let stage = route.outcome == .admitted ? nil : route.decisions.last?.stage.rawValue
            let members =
                [
                    ("name", jsonQuoted(route.name)), ("verdict", jsonQuoted(route.outcome.rawValue)),
                    ("stage", stage.map(jsonQuoted) ?? "null"), ("reason", jsonQuoted(route.reason)), ("event", route.event ?? "null"),
                    ("to", "[\(route.to.map(jsonQuoted).joined(separator: ","))]"), ("found", route.foundJSON),
                    ("errors", route.errorsJSON),
                ] + (route.shaped.isEmpty ? [] : [("providers", "[\(route.shaped.map(\.json).joined(separator: ","))]")])
                + (wires[index].map { [("wire", $0.wire.json(to: $0.provider))] } ?? [])
            return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        }
        func list(_ texts: [String]) -> String { "[\(texts.map(jsonQuoted).joined(separator: ","))]" }
        let made = emitted.map { ",\"emits\":\(list($0)),\"emit_errors\":\(list(emitErrors))" } ?? ""
        return "{\"routes\":[\(parts.joined(separator: ","))]\(made)}"
    }

    func text(_ style: Style, _ wires: [Int: (provider: String, wire: Wire)] = [:]) -> String {
        if let fault {
            let names = routes.map { printable($0.name) }.joined(separator: ", ")
            return "\(style.bad("rejected"))  \(fault)\n" + wrapped("No route sees it: \(names)", indent: 0)
        }
        let names = (emitted ?? []).map { printable($0) }.joined(separator: ", ")
        let lines = (names.isEmpty ? [] : ["emits \(names)"]) + emitErrors.map { "makes no event, since \($0)" }
        let made = lines.isEmpty ? "" : "\n" + lines.map { wrapped($0, indent: 0) }.joined()
        let parts = routes.enumerated().map { index, route in route.text(style) + (wires[index].map { wireText($0, style) } ?? "") }
        return parts.joined(separator: "\n") + made
    }
}

/// Returns the findings of `scrub` as an object.
private func foundText(_ found: [(kind: String, count: Int)]) -> String {
    "{" + found.map { "\(jsonQuoted($0.kind)):\($0.count)" }.joined(separator: ",") + "}"
}

private func errorsText(_ errors: [Explanation.Route.StepError]) -> String {
    "[" + errors.map { "{\"member\":\(jsonQuoted($0.member)),\"error\":\(jsonQuoted($0.error))}" }.joined(separator: ",") + "]"
}

/// Returns the stages with their reasons, and the event.
private func rows(_ decisions: [Explanation.Decision], _ event: String?, _ style: Style) -> String {
    var text = ""
    for decision in decisions { text += row(decision.stage.rawValue, text: wrapped(decision.why, indent: labelWidth), style: style) }
    if let event {
        let lines = JSONLayout.lines(event, width: columnsOfText - labelWidth).map {
            String(repeating: " ", count: labelWidth) + $0 + "\n"
        }
        text += row("event", text: lines.joined(), style: style)
    }
    return text
}

/// Returns what a module would send, under the name of its provider.
private func wireText(_ wire: (provider: String, wire: Wire), _ style: Style) -> String {
    let lines = wire.wire.lines(width: columnsOfText - labelWidth)
    let text = lines.map { line in
        // JSON is laid out already.
        line.hasPrefix(" ") || line.hasPrefix("{") || line.hasPrefix("[")
            ? String(repeating: " ", count: labelWidth) + line + "\n" : wrapped(line, indent: labelWidth)
    }
    return "  → \(style.strong(printable(wire.provider)))  on the wire\n" + row("wire", text: text.joined(), style: style)
}

/// Returns a row with a label. The label replaces the indentation of the first line of `text`.
private func row(_ label: String, text: String, style: Style) -> String {
    assert(2 + label.count <= labelWidth, "a label is longer than its place")
    return "  " + style.faint(label) + text.dropFirst(2 + label.count)
}

extension Explanation.Shaped {
    fileprivate var json: String {
        let stage = outcome == .admitted ? nil : decisions.last?.stage.rawValue
        let members = [
            ("name", jsonQuoted(provider)), ("verdict", jsonQuoted(outcome.rawValue)), ("stage", stage.map(jsonQuoted) ?? "null"),
            ("reason", jsonQuoted(reason)), ("event", event ?? "null"), ("found", foundText(found)),
            ("errors", errorsText(errors)),
        ]
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    fileprivate func text(_ style: Style) -> String {
        let verdict = outcome.rawValue
        let shown = outcome == .admitted ? style.good("handed over") : style.bad(verdict)
        return "  → \(style.strong(printable(provider)))  \(shown)\n" + rows(decisions, event, style)
    }
}

extension Explanation.Route {
    fileprivate var foundJSON: String { foundText(found) }
    fileprivate var errorsJSON: String { errorsText(errors) }

    fileprivate func text(_ style: Style) -> String {
        let verdict = outcome.rawValue.split(separator: "_").joined(separator: " ")
        let arrow = to.isEmpty ? "" : " → " + to.map { printable($0) }.joined(separator: ", ")
        let text = "\(style.strong(printable(name)))  \(outcome == .admitted ? style.good(verdict) : style.bad(verdict))\(arrow)\n"
        return text + rows(decisions, event, style) + shaped.map { $0.text(style) }.joined()
    }
}

private let columnsOfText = 80
/// The width of the labels. The longest stage is "transform".
private let labelWidth = 13

/// Breaks the text at spaces. Every line is indented.
private func wrapped(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
        if !line.isEmpty, indent + line.count + 1 + word.count > columnsOfText {
            lines.append(line)
            line = ""
        }
        line += line.isEmpty ? String(word) : " " + word
    }
    return (lines + [line]).map { margin + $0 + "\n" }.joined()
}
