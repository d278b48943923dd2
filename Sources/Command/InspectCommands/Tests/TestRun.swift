// Runs the tests of one file: reads the file and its configuration, explains each event as `explain` does, compares, and can write what it
// saw into the file. It delivers nothing.

internal import Configuration
internal import Document
internal import Explaining
internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import RouteTesting
internal import Startup
internal import Terminal

struct TestRun {
    let name: String
    let results: [TestResult]
    /// The path of the configuration.
    let routes: String
    /// The explanations, for the coverage of the configuration.
    let explanations: [Explanation]
    let plan: Plan
    /// The text of the file with what was seen as what is expected.
    let updated: [UInt8]
    let isChanged: Bool

    /// `reading` is called with each file before it is read.
    init(_ path: String, _ folders: ModuleFolders, _ reading: @escaping (String) -> Void = { _ in }) throws {
        reading(path)
        let file = try TestRun.read(path)
        let plan = try Loading.document(file.routes, folders, file.substitutes, reading: reading).plan
        try TestRun.checkNames(file, plan, path)
        let ledger: TestLedger?
        do {
            ledger = try TestLedger(plan, statements: file.tests.consent.map(\.bytes), now: file.tests.now)
        } catch let broken as TestLedger.BrokenStatement {
            throw ConfigurationFailure(lines: ["\(printable(path)): consent[\(broken.index)]: \(broken.message)"])
        }
        let modules = AskedModules(plan, folders)
        defer { modules.close() }
        var results: [TestResult] = []
        var explanations: [Explanation] = []
        var edits: [Edit] = []
        let rules = CompiledRules(plan, ledger?.view)
        for test in file.tests.tests {
            let now = test.now ?? file.tests.now
            let source = test.source.flatMap { name in plan.sources.firstIndex { $0.name == name } } ?? 0
            var explanation: Explanation
            do throws(Explanation.WrongCount) {
                explanation = try Explanation(
                    of: test.event.bytes, from: "event", by: plan, now: now, ledger: ledger?.view, source: source, rules: rules)
            } catch {
                throw ConfigurationFailure(lines: [file.place(test.offset, "the event must be on one line, is on \(error.events)")])
            }
            explanation.hide(plan.hidden)
            let wires = try modules.wires(test.expected?.wires ?? [], explanation, now: now)
            var failures = test.expected?.failures(explanation, wires: wires) ?? ["it has no 'expect'; --update writes it"]
            if let fault = ledger?.view.fault { failures.append("the ledger of the test cannot be read: \(fault)") }
            results.append(TestResult(name: test.name, failures: failures))
            explanations.append(explanation)
            if !failures.isEmpty { edits.append(Edit(test, Expectation.json(of: explanation, wires: wires), file.source)) }
        }
        (self.results, self.explanations, self.plan) = (results, explanations, plan)
        (name, routes) = (path, file.routes)
        updated = edits.reversed().reduce(into: file.source.bytes) { $0.replaceSubrange($1.range, with: Array($1.text.utf8)) }
        isChanged = !edits.isEmpty
    }

    // MARK: - The file

    private struct File {
        let path: String
        let source: Source
        let tests: TestFile
        /// The configuration, beside the file of tests.
        var routes: String {
            guard !tests.routes.hasPrefix("/"), let end = path.lastIndex(of: "/") else { return tests.routes }
            return path[...end] + tests.routes
        }
        var substitutes: Loading.Substitutes {
            func table(_ texts: [(key: String, value: String)]) -> [String: String] {
                Dictionary(texts.map { ($0.key, $0.value) }) { first, _ in first }
            }
            return Loading.Substitutes(environment: table(tests.environment), files: table(tests.files))
        }

        func place(_ offset: Int, _ message: String) -> String {
            let (line, column) = source.place(of: offset)
            return "\(printable(path)):\(line):\(column): \(Words.visible(message))"
        }
    }

    private static func read(_ path: String) throws -> File {
        switch Loading.input(path, most: Syntax.largest + 1) {
        case .failure(let fault): throw ConfigurationFailure(lines: ["\(printable(path)): \(fault)"])
        case .success(let bytes):
            let source = Source(bytes)
            do throws(TestFileFaults) {
                return File(path: path, source: source, tests: try TestFile.read(source))
            } catch {
                throw ConfigurationFailure(
                    lines: error.faults.map { fault in
                        let (line, column) = source.place(of: fault.offset)
                        return "\(printable(path)):\(line):\(column): \(Words.visible(fault.message))"
                    })
            }
        }
    }

    /// Refuses names of sources, routes and providers that the configuration does not have: such a test would expect nothing.
    private static func checkNames(_ file: File, _ plan: Plan, _ path: String) throws {
        var lines: [String] = []
        func check(_ name: String, _ known: [String], _ what: String, _ test: RouteTest) {
            if known.contains(name) { return }
            let near =
                Words.nearest(name, among: known).map { ", did you mean \(Words.quoted($0))?" } ?? ", expected \(Words.either(known))"
            lines.append(file.place(test.offset, "\(test.name): unknown \(what) \(Words.quoted(name))\(near)"))
        }
        let providers = plan.providers.map(\.name)
        for test in file.tests.tests {
            if let source = test.source { check(source, plan.sources.map(\.name), "source", test) }
            for (name, route) in test.expected?.routes ?? [] {
                check(name, plan.routes.map(\.name), "route", test)
                for provider in (route.to ?? []) + route.providers.map(\.key) { check(provider, providers, "provider", test) }
            }
        }
        if !lines.isEmpty { throw ConfigurationFailure(lines: lines) }
    }

    /// A change of the text: a value of `expect` that is written or replaced. All else of the file stays byte for byte.
    private struct Edit {
        let range: Range<Int>
        let text: String

        init(_ test: RouteTest, _ json: String, _ source: Source) {
            let column = test.start - (source.bytes[..<test.start].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0)
            let indent = "\n" + String(repeating: " ", count: column)
            let value = JSONLayout.lines(json, width: 130 - column, isFirstAt: column + 10).joined(separator: indent)
            if let range = test.expectedRange {
                (self.range, text) = (range, value)
            } else {
                (range, text) = (test.end..<test.end, ",\(indent)\"expect\": \(value)")
            }
        }
    }
}

/// The modules that tests ask what they would send. Each is made when it is first asked.
private final class AskedModules {
    private let plan: Plan
    private let folders: ModuleFolders
    private var made: [String: Inquiry] = [:]

    init(_ plan: Plan, _ folders: ModuleFolders) {
        self.plan = plan
        self.folders = folders
    }

    func wires(_ wanted: [(route: String, provider: String)], _ explanation: Explanation, now: Int64) throws -> [WireEntry] {
        var wires: [WireEntry] = []
        for (route, provider) in wanted {
            guard let index = plan.providers.firstIndex(where: { $0.name == provider }),
                let event = explanation.routes.first(where: { $0.name == route })?.handOvers.first(where: { $0.provider == provider })
            else { continue }
            let inquiry = try made[provider] ?? Inquiry(of: index, plan, folders)
            made[provider] = inquiry
            let wire: Wire =
                switch inquiry.preview([event.line], arrivals: [now]) {
                case .success(let preview): Wire(preview, later: nil, of: event)
                case .failure(let fault): .unknown(fault.message)
                }
            wires.append(WireEntry(route: route, provider: provider, json: wire.json(to: provider)))
        }
        return wires
    }

    func close() { for inquiry in made.values { inquiry.close() } }
}
