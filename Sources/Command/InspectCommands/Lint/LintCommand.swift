// `switchyard lint`: looks at a valid configuration for what is most likely not meant so.

internal import Configuration
internal import Document
internal import Linting
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let lintCommand = Command(
    name: "lint",
    about: "Names what is valid in a configuration and most likely not meant so; exits with 1 if there is something.",
    details: """
        It finds routes that can never match, that are shadowed or that overlap; providers and keys that nothing uses; purposes
        and levels that nothing demands; members that one route hashes and another does not; secrets in plain text; and more.
        Each finding has a number, a place, a reason and a way out: docs/lint.md lists them. An object of the configuration
        allows a finding with "lint": {"allow": ["SY0103"]}.

        The exit code is 1 if there is an error or a warning, 0 if there are only notes, and 78 if the configuration is wrong.
        """,
    argument: "FILE",
    options: [
        configOption,
        Option(name: "--format", value: "FORMAT", about: "text, sarif (SARIF 2.1.0) or github (annotations of a workflow)"),
        Option(name: "--rules", about: "list the rules instead"),
    ],
    run: { arguments in
        if arguments.argument != nil, arguments.has("--config") { throw UsageFault("give the configuration once: FILE or --config FILE") }
        guard let format = LintFormat(rawValue: arguments["--format"] ?? "text") else {
            throw UsageFault("--format must be text, sarif or github, is '\(arguments["--format"] ?? "")'")
        }
        if arguments.has("--rules") {
            try Console.show(LintRule.all.map { "\($0.number)  \($0.severity.rawValue)  \($0.name): \($0.about)\n" }.joined())
            return ExitCode.delivered
        }
        let file = arguments.argument ?? arguments["--config"] ?? Loading.defaultFile
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        let found = try Lint(file, folders)
        try Console.show(found.text(format))
        return found.findings.contains { $0.rule.severity != .note } ? ExitCode.noValue : ExitCode.delivered
    })

enum LintFormat: String { case text, sarif, github }

/// The findings of one file, with their places.
struct Lint {
    let file: String
    let findings: [LintFinding]
    private let source: Source

    init(_ file: String, _ folders: ModuleFolders) throws {
        self.init(try Loading.document(file, folders), file: file, folders)
    }

    init(_ document: RoutesFile.Document, file: String, _ folders: ModuleFolders) {
        self.file = file
        source = document.source
        let described = folders.descriptions(of: Array(Set(document.plan.providers.map(\.plugin))).sorted())
        var modules: [String: ModuleDescription] = [:]
        for (name, result) in described { modules[name] = (try? result.get()) ?? nil }
        findings = Linter.findings(document, modules: modules)
    }

    func text(_ format: LintFormat) -> String {
        switch format {
        case .text: findings.map { line($0) + "\n    fix: \($0.fix)\n" }.joined() + summary
        case .github: findings.map(annotation).joined()
        case .sarif: JSONLayout.lines(sarif, width: 120).joined(separator: "\n") + "\n"
        }
    }

    /// One line with the place, as `check` reports a fault.
    func line(_ finding: LintFinding) -> String {
        let (line, column) = source.place(of: finding.offset)
        let path = finding.path.isEmpty ? "" : "\(printable(finding.path)): "
        return "\(printable(file)):\(line):\(column): \(finding.rule.severity.rawValue) \(finding.rule.number): \(path)\(finding.reason)"
    }

    private var summary: String {
        func count(_ severity: LintSeverity, _ name: String) -> String {
            let count = findings.count { $0.rule.severity == severity }
            return "\(count) \(name)\(count == 1 ? "" : "s")"
        }
        return "\(printable(file)): \(count(.error, "error")), \(count(.warning, "warning")), \(count(.note, "note"))\n"
    }

    // MARK: - GitHub

    private func annotation(_ finding: LintFinding) -> String {
        let (line, column) = source.place(of: finding.offset)
        let command = finding.rule.severity == .note ? "notice" : finding.rule.severity.rawValue
        let title = "\(finding.rule.number) \(finding.rule.name)"
        let text = "\(finding.path.isEmpty ? "" : finding.path + ": ")\(finding.reason); \(finding.fix)"
        return "::\(command) file=\(Lint.property(file)),line=\(line),col=\(column),title=\(Lint.property(title))::\(Lint.escaped(text))\n"
    }

    private static func escaped(_ text: String) -> String { replaced(text, ["%": "%25", "\r": "%0D", "\n": "%0A"]) }
    private static func property(_ text: String) -> String {
        replaced(text, ["%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"])
    }
    private static func replaced(_ text: String, _ table: [Unicode.Scalar: String]) -> String {
        text.unicodeScalars.reduce(into: "") { $0 += table[$1] ?? String($1) }
    }

    // MARK: - SARIF

    private var sarif: String {
        func text(_ words: String) -> String { JSONText.object([("text", JSONText.quoted(words))]) }
        let rules = LintRule.all.map { rule in
            JSONText.object([
                ("id", JSONText.quoted(rule.number)), ("name", JSONText.quoted(rule.name)), ("shortDescription", text(rule.about)),
                ("defaultConfiguration", JSONText.object([("level", JSONText.quoted(rule.severity.rawValue))])),
            ])
        }
        let results = findings.map { finding in
            let (line, column) = source.place(of: finding.offset)
            let region = JSONText.object([("startLine", "\(line)"), ("startColumn", "\(column)")])
            let location = JSONText.object([
                (
                    "physicalLocation",
                    JSONText.object([
                        ("artifactLocation", JSONText.object([("uri", JSONText.quoted(Lint.uri(file)))])), ("region", region),
                    ])
                ), ("logicalLocations", JSONText.list([JSONText.object([("fullyQualifiedName", JSONText.quoted(finding.path))])])),
            ])
            return JSONText.object([
                ("ruleId", JSONText.quoted(finding.rule.number)),
                ("ruleIndex", "\(LintRule.all.firstIndex(of: finding.rule)!)"), ("level", JSONText.quoted(finding.rule.severity.rawValue)),
                ("message", text("\(finding.reason); \(finding.fix)")), ("locations", JSONText.list([location])),
            ])
        }
        let driver = JSONText.object([
            ("name", "\"switchyard lint\""), ("version", JSONText.quoted(version)), ("rules", JSONText.list(rules)),
        ])
        let run = JSONText.object([
            ("tool", JSONText.object([("driver", driver)])), ("columnKind", "\"utf16CodeUnits\""), ("results", JSONText.list(results)),
        ])
        return JSONText.object([
            ("$schema", "\"https://json.schemastore.org/sarif-2.1.0.json\""), ("version", "\"2.1.0\""), ("runs", JSONText.list([run])),
        ])
    }

    /// The path as a relative reference: every other byte than the unreserved ones and `/` is escaped.
    private static func uri(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.utf8.reduce(into: path.hasPrefix("/") ? "file://" : "") { uri, byte in
            let isPlain = byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a || "-._~/".utf8.contains(byte)
            uri += isPlain ? String(Unicode.Scalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }
}
