// The output of `switchyard providers`: a table of the installed modules, or the details of one module.

public import Plans

/// A file in a plugin folder, and its description or its fault.
public struct InstalledModule: Sendable {
    /// The name from the module's description. If there is none, it is the name from the file name.
    public let name: String
    public let path: String
    public let state: Result<ModuleDescription, ModuleFault>

    public init(name: String, path: String, state: Result<ModuleDescription, ModuleFault>) {
        self.name = name
        self.path = path
        self.state = state
    }
}

public enum Listing {
    /// Returns one line for each module that can be used, and then one line for each that cannot.
    public static func table(_ modules: [InstalledModule]) -> String {
        guard !modules.isEmpty else { return "no modules are installed\n" }
        var rows: [[String]] = []
        var faults: [String] = []
        for module in modules {
            switch module.state {
            case .success(let about):
                // A module that offers both has a row for each.
                if about.offersProvider {
                    rows.append([module.name, about.version, "provider", about.summary, module.path].map(ForeignText.harmless))
                }
                if let source = about.source {
                    rows.append([module.name, source.version, "source", source.summary, module.path].map(ForeignText.harmless))
                }
            case .failure(let fault): faults.append("\(module.name) cannot be used: \(fault)")
            }
        }
        var result = rows.isEmpty ? "" : columns([["NAME", "VERSION", "KIND", "WHAT IT DOES", "FILE"]] + rows)
        for fault in faults { result += fault + "\n" }
        return result
    }

    /// Returns the details of one module: its description, its path, its limits and its settings.
    public static func details(_ module: InstalledModule) -> String {
        let about: ModuleDescription
        switch module.state {
        case .success(let description): about = description
        case .failure(let fault): return "\(module.name) cannot be used: \(fault)\n"
        }
        var result = ForeignText.harmless("\(about.name) \(about.version)") + "\n"
        if about.offersProvider { result += provider(about, module.path) }
        if let source = about.source {
            if about.offersProvider { result += "\n" }
            result += self.source(source, module.path)
        }
        return result
    }

    private static func source(_ about: SourceDescription, _ path: String) -> String {
        var result = "As a source" + (about.summary.isEmpty ? "" : ": \(ForeignText.harmless(about.summary))") + "\n"
        result += "\n" + columns([["file", path]])
        return result + settings(about.settings)
    }

    private static func provider(_ about: ModuleDescription, _ path: String) -> String {
        let limits = [about.limits.events.map { "\($0) events" }, about.limits.bytes.map { "\($0) bytes" }].compactMap { $0 }
        var result = about.summary.isEmpty ? "" : ForeignText.harmless(about.summary) + "\n"
        result += "\n"
        result += columns([
            ["file", path],
            ["batches", limits.isEmpty ? "of any size" : "of at most " + limits.joined(separator: " and ")],
            ["at once", about.concurrency == 1 ? "one batch" : "up to \(about.concurrency) batches"],
            ["order", about.delivery.ordered ? "kept, unless \"ordered\" is false" : "not kept, unless \"ordered\" is true"],
            ["repeats", about.deduplicates ? "recognized by their messageId" : "not recognized"],
            [
                "erasure",
                (about.canErase ? "can erase the data of subjects" : "cannot erase the data of subjects")
                    + (about.byHand.isEmpty ? "" : ". By hand: \(ForeignText.harmless(about.byHand))"),
            ],
        ])
        return result + settings(about.settings)
    }

    private static func settings(_ rules: SettingsSchema.ObjectRules) -> String {
        let settings = rows(.object(rules), "", required: true).filter { !$0[0].isEmpty }
        return settings.isEmpty ? "\nIt has no settings.\n" : "\n" + columns([["SETTING", "TYPE", "DEFAULT", "MEANING"]] + settings)
    }

    // MARK: - Settings

    /// Returns a row for each setting. A setting inside an object is named by its path.
    private static func rows(_ schema: SettingsSchema, _ path: String, required: Bool) -> [[String]] {
        let need = required ? "required" : ""
        switch schema {
        case .string(let rules):
            var kind = rules.format == .plain ? "string" : rules.format.rawValue
            if rules.format.isExpression { kind += " in CEL" }
            if rules.isSecret { kind = "secret" }
            if !rules.oneOf.isEmpty { kind = rules.oneOf.joined(separator: "|") }
            if let pattern = rules.pattern { kind += " like \(pattern)" }
            return [row(path, kind, rules.fallback ?? need, rules.about)]
        case .number(let rules):
            var kind = rules.integer ? "integer" : "number"
            switch (rules.minimum, rules.maximum) {
            case (let low?, let high?): kind += " \(shown(low)) to \(shown(high))"
            case (let low?, nil): kind += ", at least \(shown(low))"
            case (nil, let high?): kind += ", at most \(shown(high))"
            case (nil, nil): break
            }
            return [row(path, kind, rules.fallback.map(shown) ?? need, rules.about)]
        case .boolean(let rules):
            return [row(path, "true|false", rules.fallback.map { "\($0)" } ?? need, rules.about)]
        case .list(let element, let about):
            let inner = rows(element, path + "[]", required: false)
            // A list of plain values has one row. A list of objects has one row, and one more for each member.
            if inner.count == 1, inner[0][0] == path + "[]" {
                return [row(path, "list of " + inner[0][1], need, about.isEmpty ? inner[0][3] : about)]
            }
            return [row(path, "list of objects", need, about)] + inner.filter { $0[0] != path + "[]" }
        case .object(let rules):
            var result = path.isEmpty ? [] : [row(path, "object", need, rules.about)]
            for member in rules.members {
                result += rows(member.schema, path.isEmpty ? member.name : "\(path).\(member.name)", required: member.required)
            }
            if let others = rules.others { result += rows(others, path.isEmpty ? "*" : path + ".*", required: false) }
            return result
        case .either(let choices, let about):
            let inner = choices.map { rows($0, path, required: required) }
            let first = inner.compactMap { $0.first { $0[0] == path } }
            let fallback = first.map { $0[2] }.first { !$0.isEmpty && $0 != need } ?? need
            return [row(path, first.map { $0[1] }.joined(separator: "|"), fallback, about)]
                + inner.flatMap { $0 }.filter { $0[0] != path }
        }
    }

    private static func row(_ cells: String...) -> [String] { cells.map(ForeignText.harmless) }

    private static func shown(_ number: Double) -> String { Int64(exactly: number).map { "\($0)" } ?? "\(number)" }

    /// Returns the rows as text. Each column is as wide as its widest cell.
    private static func columns(_ rows: [[String]]) -> String {
        let widths = (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column].count }.max() ?? 0 }
        var result = ""
        for row in rows {
            var line = ""
            for (cell, width) in zip(row, widths) { line += cell + String(repeating: " ", count: width - cell.count + 2) }
            while line.hasSuffix(" ") { line.removeLast() }
            result += line + "\n"
        }
        return result
    }
}
