// Drafts of a configuration that a person edits on the page: the check, and the comparison with the running plan on the next events. A draft
// resolves no `${env:}` and no `${file:}`: words of the same name stand for their values. It reads no file, makes no provider and loads no
// module; the descriptions of the installed modules are read once for all drafts. Its size is limited, one comparison runs at a time, and each
// event passes the rules of a draft under the limits of every event.

internal import Configuration
internal import Document
internal import Explaining
internal import Expressions
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import RouteTesting
internal import Router
internal import Startup
internal import Tapping
internal import Terminal

final class PageDrafts: Sendable {
    /// The most bytes of a draft.
    static let mostBytes = 256 << 10
    /// The most events of a comparison.
    static let mostEvents = 1000
    /// The time for which one request compares.
    private static let patience = Duration.seconds(1)

    fileprivate struct Trial {
        /// The number of its tap.
        var number: Int
        var user: UInt32?
        var running: Plan
        var draft: Plan
        var ledger: LedgerView?
        var rules: (running: CompiledRules, draft: CompiledRules)
        var comparison = EventComparison()
        /// The events that were captured and not compared yet.
        var waiting: ArraySlice<TappedEvent> = []
        var seen = 0
        var isOver = false
    }

    private struct State {
        var modules: [ModuleDescription]?
        var trial: Trial?
    }

    private let router: Router
    private let clock: Clock
    private let folder: String
    private let state = Monitor(State())

    /// `folder` is the state folder.
    init(_ router: Router, folder: String, clock: Clock) {
        self.router = router
        self.clock = clock
        self.folder = folder
    }

    // MARK: - The check

    /// The JSON Schema of a configuration with the installed modules.
    var schema: String { RoutesFile.schema(for: modules) }

    private var modules: [ModuleDescription] {
        state.withLock { state in
            let known = state.modules ?? ModuleFolders.standard().installed().compactMap { try? $0.state.get() }
            state.modules = known
            return known
        }
    }

    /// A place of a draft with what is wrong there.
    struct Fault: Error {
        var line: Int
        var column: Int
        var message: String
    }

    /// What the check of a draft has found.
    struct Verdict {
        /// It is nil if the draft has a fault, or needs a value that only the environment or a file has.
        var plan: Plan?
        var faults: [Fault] = []
        /// What was not checked, since only the environment or a file has the value.
        var left: [String] = []

        var json: String {
            let faults = faults.map { "{\"line\":\($0.line),\"column\":\($0.column),\"message\":\(jsonQuoted($0.message))}" }
            return "{\"faults\":[\(faults.joined(separator: ","))],\"left\":[\(left.map(jsonQuoted).joined(separator: ","))]}\n"
        }
    }

    func check(_ text: [UInt8]) -> Verdict {
        let trackingPlan = PageDrafts.trackingPlan(of: text)
        let reader = RoutesFile(
            environment: { PageDrafts.standIn("env:\($0)") },
            contents: { path in
                // The tracking plan of a draft is not read. That of the router stands for it below.
                .success(Array((path == trackingPlan ? #"{"events":{"draft":{}}}"# : PageDrafts.standIn("file:\(path)")).utf8))
            }, catalog: KnownModules(modules))
        var verdict = Verdict()
        do throws(ConfigurationFaults) {
            var plan = try reader.document(text, file: "draft").plan
            if trackingPlan != nil {
                plan.trackingPlan = router.plan.trackingPlan
                verdict.left.append("the tracking plan, which is that of the router here")
            }
            verdict.plan = plan
        } catch {
            for fault in error.faults {
                // The value is a stand-in, so nothing is known about the real one.
                if fault.message.indices.contains(where: { fault.message[$0...].hasPrefix("the value of ${") }) {
                    verdict.left.append("line \(fault.line), whose value comes from ${env:} or ${file:}")
                } else {
                    verdict.faults.append(Fault(line: fault.line, column: fault.column, message: fault.message))
                }
            }
        }
        return verdict
    }

    /// Returns what stands for the value of a placeholder. It has the length of a key, and is hidden like the value.
    private static func standIn(_ name: String) -> String { "stands in a draft for \(name)" }

    /// Returns the name of the file that a draft names as its tracking plan.
    private static func trackingPlan(of text: [UInt8]) -> String? {
        guard let root = try? Outline.read(Source(text), resolving: nil).0 else { return nil }
        return root["plan"]?.text?.value
    }

    /// Returns the text with a placeholder in the place of each value that is masked, so that the draft is valid. Each has a name of its own.
    static func named(_ text: String) -> String {
        let mask = Array("\"\(HiddenTexts.mask)\"".utf8)
        var (rest, named, number) = (Array(text.utf8)[...], [UInt8](), 0)
        while let byte = rest.first {
            if rest.starts(with: mask) {
                number += 1
                named += Array("\"${env:SECRET_\(number)}\"".utf8)
                rest = rest.dropFirst(mask.count)
            } else {
                named.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: named, as: UTF8.self)
    }

    // MARK: - The comparison

    /// Begins to compare the draft with the running plan. Returns the number of the comparison, or why there is none.
    func begin(_ draft: Plan, by user: UInt32?) throws -> Int {
        let running = router.plan
        var ledger: LedgerView?
        if running.consent?.ledger != nil { ledger = try LedgerView.open(running, in: folder) }
        if ledger == nil, draft.consent?.ledger != nil { ledger = LedgerView(nil, key: [UInt8](repeating: 0, count: 16)) }
        var asked = TapRequest(.in)
        // The events are compared and never shown.
        asked.isRaw = true
        guard let number = router.taps.open(asked, user: user) else {
            throw StateFailure("\(Taps.most) taps are open, which is the most; end one of them, or try again later")
        }
        let taps = router.taps
        Thread.start("tap \(number)") { taps.watchExpiry() }.detach()
        let rules = (
            CompiledRules(running, running.consent?.ledger == nil ? nil : ledger),
            CompiledRules(draft, draft.consent?.ledger == nil ? nil : ledger)
        )
        let trial = Trial(number: number, user: user, running: running, draft: draft, ledger: ledger, rules: rules)
        let old = state.withLock { state in
            defer { state.trial = trial }
            return state.trial
        }
        if let old { close(old) }
        return number
    }

    /// Waits for the next events, compares what it can within a second, and returns how far the comparison is. Returns nil if there is none
    /// of this number.
    func next(_ number: Int, by user: UInt32?) -> String? {
        guard state.withLock({ $0.trial?.number == number && $0.trial?.user == user }) else { return nil }
        let taken = router.taps.take(number, user: user)
        let (taps, end) = (router.taps, clock.now() + PageDrafts.patience)
        return state.withLock { state -> String? in
            guard var trial = state.trial, trial.number == number else { return nil }
            // The copy in the state would make each change copy everything.
            state.trial = nil
            trial.waiting += (taken?.events ?? []).prefix(PageDrafts.mostEvents - trial.seen - trial.waiting.count)
            while clock.now() < end, let event = trial.waiting.popFirst() {
                // A withdrawal may have come since the event was captured.
                if taps.pass(number, [event]) == [true] { trial.add(event) }
            }
            trial.isOver = trial.seen >= PageDrafts.mostEvents || taken == nil && trial.waiting.isEmpty
            assert(trial.seen + trial.waiting.count <= PageDrafts.mostEvents, "a comparison has more events than it may")
            state.trial = trial
            return "{\"events\":\(trial.seen),\"most\":\(PageDrafts.mostEvents),\"done\":\(trial.isOver),"
                + "\"text\":\(jsonQuoted(trial.comparison.text(showsValues: false)))}\n"
        }
    }

    /// Ends the comparison.
    func end(_ number: Int, by user: UInt32?) {
        let trial = state.withLock { state -> Trial? in
            guard state.trial?.number == number, state.trial?.user == user else { return nil }
            defer { state.trial = nil }
            return state.trial
        }
        if let trial { close(trial) }
    }

    private func close(_ trial: Trial) {
        router.taps.close(trial.number, user: trial.user)
        trial.ledger?.close()
    }
}

extension PageDrafts.Trial {
    fileprivate mutating func add(_ event: TappedEvent) {
        guard case .routes(let own, _, let source) = event.origin else { return }
        let name = own.plan.sources.indices.contains(source) ? own.plan.sources[source].name : ""
        func explain(_ plan: Plan, _ rules: CompiledRules) -> Explanation? {
            let index = plan.sources.firstIndex { $0.name == name } ?? 0
            let ledger = plan.consent?.ledger == nil ? nil : ledger
            guard
                var explanation = try? Explanation(
                    of: event.line, from: "", by: plan, now: event.arrival, ledger: ledger, source: index, rules: rules)
            else { return nil }
            explanation.hide(plan.hidden)
            return explanation
        }
        seen += 1
        guard let before = explain(running, rules.running), let after = explain(draft, rules.draft) else { return }
        comparison.add(line: seen, old: before, new: after)
    }
}

/// The modules whose descriptions are known. It reads none.
private struct KnownModules: ModuleCatalog {
    private let modules: [String: ModuleDescription]

    init(_ modules: [ModuleDescription]) { self.modules = Dictionary(modules.map { ($0.name, $0) }) { first, _ in first } }

    var names: [String] { modules.keys.sorted() }
    func description(of module: String) -> ModuleDescription? { modules[module] }
}
