// The checks, which run in the child process. Each check is announced before it runs, so that the overseer knows which one never ended.

import Glibc
import Plans
import Platform
import PluginHost
import Queueing

struct Broken: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Collects the outcomes of a delivery, which must be exactly one.
final class Ending: Sendable {
    private let outcomes = Monitor<[BatchOutcome]>([])
    func put(_ outcome: BatchOutcome) {
        outcomes.withLock { $0.append(outcome) }
        outcomes.wake()
    }
    func wait(_ patience: Int) throws -> BatchOutcome {
        let deadline = Clock.system.now() + .seconds(patience)
        let outcome: BatchOutcome? = outcomes.waitUntilReady { outcomes in
            if let outcome = outcomes.first { return .ready(outcome) }
            return Clock.system.now() >= deadline ? .ready(nil) : .notBefore(deadline)
        }
        guard let outcome else { throw Broken("it was not ended within \(patience) s") }
        return outcome
    }
    var count: Int { outcomes.withLock { $0.count } }
}

final class Suite {
    let file: String
    let casesFile: String?
    let patience: Int
    let folder = Files.currentFolder
    private var seen: Set<String> = []
    private var isStuck = false
    /// All instances that were made. At the end, their stray completions are counted.
    private var instances: [ModuleInstance] = []

    init(module: String, casesFile: String?, patience: Int) {
        file = module
        self.casesFile = casesFile
        self.patience = patience
    }

    func check(_ name: String, _ body: () throws -> Void) {
        guard !isStuck else { return }
        Report.begin(name)
        do {
            try body()
            Report.passed(name)
        } catch {
            Report.failed(name, "\(error)")
            // A module that never ends one delivery would also block the following checks.
            if "\(error)".hasPrefix("it was not ended") { isStuck = true }
        }
    }

    func run() {
        var found: Module?
        var cases: Cases?
        let modules = folder + "/modules"
        let folders = ModuleFolders([modules])
        check("it loads: its table and its description are valid") {
            let name = String(file.split(separator: "/").last ?? "")
            guard mkdir(modules, 0o700) == 0, symlink(file, "\(modules)/\(name)") == 0 else { throw SystemFault() }
            guard let installed = folders.installed().first else { throw Broken("\(file) is not a shared library named *.so") }
            _ = try installed.state.get()
            found = try folders.module(installed.name)
        }
        check("its cases can be read") { cases = try Cases.read(casesFile, folder: folder) }
        guard let module = found, let cases else { return }
        if let source = module.description.source { sources(module, source, in: folders, cases.sources) }
        guard module.description.offersProvider else { return }
        check("its description has a summary and a version") {
            if module.description.summary.isEmpty { throw Broken("its summary is empty") }
            if module.description.version.isEmpty { throw Broken("its version is empty") }
        }
        // This comes before all other checks, so that the folder is still empty.
        for one in cases.all where one.expects != "refused" {
            check("\(one.name): create and destroy write nothing, connect to nothing and start nothing") {
                let before = Dependencies(folder)
                let instance = try make(module, in: folders, one.settings)
                let made = before.news(folder)
                instance.close()
                if let news = made ?? before.news(folder) { throw Broken(news) }
            }
        }
        wrongSettings(module, in: folders, cases)
        for one in cases.all { outcome(module, in: folders, one) }
        inquiries(module, in: folders, cases)
        if let good = cases.good {
            deliveries(module, in: folders, good)
            erasures(module, in: folders, good)
        } else {
            Report.note("no case expects 'delivered': deliveries were not checked")
        }
        check("no delivery is completed twice or after destroy") {
            let strays = instances.reduce(0) { $0 + $1.strayCompletions }
            if strays > 0 { throw Broken("\(strays) completions were for no delivery under way") }
        }
        let missing = Case.kinds.filter { !seen.contains($0) && $0 != "refused" }
        Report.note(
            "outcomes seen: \(seen.sorted().joined(separator: ", "))"
                + (missing.isEmpty ? "" : "; no case led to \(missing.joined(separator: ", "))"))
    }

    // MARK: - Settings

    private func wrongSettings(_ module: Module, in folders: ModuleFolders, _ cases: Cases) {
        for wrong in WrongSettings.all(of: module.description.settings, good: cases.good?.settings ?? [:]) {
            check("settings are refused: \(wrong.way)") {
                do {
                    _ = try plan(module.description.name, wrong.settings, in: folders)
                } catch is ConfigurationFaults {
                    return
                }
                throw Broken("the schema accepts them")
            }
        }
        check("invalid settings are refused or accepted without a crash") {
            for text in WrongSettings.texts {
                // Both results are allowed.
                if let instance = try? module.make(settings: Secret(Array(text.utf8)), name: "out", log: { _, _ in }) { instance.close() }
            }
        }
    }

    // MARK: - Outcomes

    func make(_ module: Module, in folders: ModuleFolders, _ settings: [String: String]) throws -> ModuleInstance {
        let settings = try plan(module.description.name, settings, in: folders).settings
        let instance = try module.make(settings: settings, name: "out") { level, line in
            if level >= .warning { Report.note(line) }
        }
        instances.append(instance)
        return instance
    }

    /// Closes the instance and waits until there are no more than `threads` threads, since destroy must end those of the instance.
    private func destroy(_ instance: ModuleInstance, threads: Int) throws {
        instance.close()
        let until = Clock.system.now() + .seconds(patience)
        // The kernel lists a thread for a moment longer than a join takes.
        while Footprint.now().threads > threads {
            guard Clock.system.now() < until else { throw Broken("one of its threads still runs after destroy") }
            usleep(1000)
        }
    }

    private func deliver(_ instance: ModuleInstance, _ lines: [String], attempt: Int = 1, _ destination: Destination? = nil) throws
        -> BatchOutcome
    {
        let batch = OwnBatch(lines, arrival: Clock.system.wall())
        let before = Array(batch.bytes)
        let ending = Ending()
        _ = destination?.arrived()
        // The file is read inside the completion: an event that arrives later was not delivered at that moment.
        let arrived = Monitor(0)
        nonisolated(unsafe) let destination = destination
        instance.deliver(lent: batch, attempt: attempt) { outcome in
            arrived.withLock { $0 = destination?.arrived() ?? 0 }
            ending.put(outcome)
        }
        let outcome = try ending.wait(patience)
        if destination != nil, kind(of: outcome, lines.count) == "delivered" {
            let count = arrived.withLock { $0 }
            if count < lines.count { throw Broken("\(lines.count) events were reported as delivered, but only \(count) had arrived") }
        }
        guard batch.bytes.elementsEqual(before) else { throw Broken("it changed the events that it was lent") }
        if let senseless = senseless(outcome) { throw Broken(senseless) }
        seen.insert(kind(of: outcome, lines.count))
        return outcome
    }

    private func outcome(_ module: Module, in folders: ModuleFolders, _ one: Case) {
        check("\(one.name): \(one.expects)") {
            let restore = try one.output.map(replaceOutput)
            defer { restore?() }
            let instance: ModuleInstance
            do {
                instance = try make(module, in: folders, one.settings)
            } catch let fault as ModuleFault {
                if one.expects == "refused" { return }
                throw fault
            }
            defer { instance.close() }
            if one.expects == "refused" { throw Broken("an instance was made") }
            let outcome = try deliver(instance, one.events, one.arrives.map(Destination.init))
            let kind = kind(of: outcome, one.events.count)
            guard kind == one.expects else { throw Broken("it was \(kind): \(words(outcome.batch))") }
        }
    }

    private func words(_ outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .filtered, .untried: "not handed over"
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer.message
        }
    }

    private func kind(of outcome: BatchOutcome, _ count: Int) -> String {
        // If all events have the same outcome, it is the outcome of the batch, no matter how the module reported it.
        let kinds = Set((0..<count).map { kind(of: outcome.events[$0] ?? outcome.batch) })
        return kinds.count > 1 ? "partial" : kinds.first ?? kind(of: outcome.batch)
    }

    private func kind(of outcome: Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .filtered, .untried: "not handed over"
        case .rejected: "rejected"
        case .retry: "retry"
        case .unknown: "unknown"
        case .fault: "fault"
        case .closed: "closed"
        }
    }

    /// Returns the message of the host if it took an invalid outcome for unknown. It returns nil if all outcomes were valid.
    private func senseless(_ outcome: BatchOutcome) -> String? {
        for case .unknown(let answer) in [outcome.batch] + outcome.events.values where answer.message.hasPrefix("the module ") {
            return answer.message
        }
        return nil
    }

    private func replaceOutput(_ target: String) throws -> () -> Void {
        let kept = dup(1)
        let replacement: Int32
        if target == "left" {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw Broken("no pipe") }
            close(ends[0])
            replacement = ends[1]
        } else {
            replacement = open(target, O_WRONLY)
        }
        guard replacement >= 0 else { throw Broken("\(target) cannot be opened") }
        dup2(replacement, 1)
        close(replacement)
        return {
            dup2(kept, 1)
            close(kept)
        }
    }

    // MARK: - Deliveries

    private func deliveries(_ module: Module, in folders: ModuleFolders, _ good: Case) {
        var instance: ModuleInstance!
        let destination = good.arrives.map(Destination.init)
        let threads = Footprint.now().threads
        func expectDelivered(_ lines: [String], attempt: Int = 1) throws {
            let outcome = try deliver(instance, lines, attempt: attempt, destination)
            let kind = kind(of: outcome, lines.count)
            guard kind == "delivered" else { throw Broken("it was \(kind): \(words(outcome.batch))") }
            guard instance.strayCompletions == 0 else { throw Broken("a delivery was ended more than once") }
        }
        check("an instance is made") { instance = try make(module, in: folders, good.settings) }
        guard instance != nil else { return }
        let limits = module.description.limits
        check("a batch of one event is delivered") { try expectDelivered([good.events[0]]) }
        check("a batch that is tried for the third time is delivered") { try expectDelivered([good.events[0]], attempt: 3) }
        check("the largest batch that its limits allow is delivered") {
            var lines: [String] = []
            var bytes = 0
            let mostBytes = min(limits.bytes ?? 1_000_000, 16_000_000)
            while lines.count < min(limits.events ?? 10_000, 100_000) {
                let line = good.events[lines.count % good.events.count]
                if bytes + line.utf8.count + 1 > mostBytes { break }
                bytes += line.utf8.count + 1
                lines.append(line)
            }
            try expectDelivered(lines)
        }
        check("a single large event is ended") {
            let size = min(limits.bytes ?? 1_000_000, 16_000_000) - 20
            _ = try deliver(instance, [#"{"a":"\#(String(repeating: "x", count: max(0, size)))"}"#])
        }
        check("an empty batch is ended") { _ = try deliver(instance, []) }
        check("1200 batches in sequence are delivered, and their resources are released") {
            var growth = Growth()
            let turns = 1200 / Growth.parts
            for _ in 0..<Growth.parts {
                for _ in 0..<turns {
                    try expectDelivered(good.events)
                    Report.goesOn()
                }
                growth.mark()
            }
            if let leak = growth.leak(turns: turns, withMemory: true) { throw Broken(leak) }
        }
        check("as many batches at once as its concurrency allows are all ended") {
            let endings = (0..<module.description.concurrency).map { _ in Ending() }
            for ending in endings {
                instance.deliver(lent: OwnBatch(good.events, arrival: Clock.system.wall()), attempt: 1) { ending.put($0) }
            }
            for ending in endings { _ = try ending.wait(patience) }
        }
        check("a reopen between two batches loses nothing") {
            instance.reopen()
            try expectDelivered(good.events)
        }
        for name in ["a flush after deliveries is delivered", "a second flush is delivered"] {
            check(name) {
                let ending = Ending()
                instance.flush { ending.put(BatchOutcome($0)) }
                let outcome = try ending.wait(patience)
                if let senseless = senseless(outcome) { throw Broken(senseless) }
                let kind = kind(of: outcome.batch)
                // A flush is not repeated, so it must succeed.
                guard kind == "delivered" else { throw Broken("it was \(kind): \(words(outcome.batch))") }
            }
        }
        check("two instances deliver side by side") { try sideBySide(module, in: folders, good) }
        check("it can be closed while a delivery is under way, and the delivery is ended once") {
            let threads = Footprint.now().threads
            let other = try make(module, in: folders, good.settings)
            let ending = Ending()
            other.deliver(lent: OwnBatch(good.events, arrival: Clock.system.wall()), attempt: 1) { ending.put($0) }
            try destroy(other, threads: threads)
            _ = try ending.wait(patience)
            guard ending.count == 1, other.strayCompletions == 0 else { throw Broken("it was ended more than once") }
        }
        check("it can be closed immediately after it was made, closed twice, and made again") {
            for _ in 0..<10 {
                let other = try make(module, in: folders, good.settings)
                other.close()
                other.close()
            }
        }
        check("60 instances that deliver and are closed release their resources") {
            var growth = Growth()
            let turns = 60 / Growth.parts
            for _ in 0..<Growth.parts {
                for _ in 0..<turns {
                    let threads = Footprint.now().threads
                    let other = try make(module, in: folders, good.settings)
                    _ = try deliver(other, good.events)
                    try destroy(other, threads: threads)
                    Report.goesOn()
                }
                growth.mark()
            }
            // The host's part of an instance lives as long as the process, so the memory must not be compared.
            if let leak = growth.leak(turns: turns, withMemory: false) { throw Broken(leak) }
        }
        check("it can be closed, its threads end, and every delivery was ended exactly once") {
            try destroy(instance, threads: threads)
            instance.close()
            guard instance.strayCompletions == 0 else {
                throw Broken("\(instance.strayCompletions) completions were for no delivery under way")
            }
        }
    }

    private func sideBySide(_ module: Module, in folders: ModuleFolders, _ good: Case) throws {
        let instances = try [0, 1].map { _ in try make(module, in: folders, good.settings) }
        defer { for one in instances { one.close() } }
        let endings = (0..<100).map { _ in Ending() }
        let threads = Monitor(2)
        for (number, one) in instances.enumerated() {
            let events = good.events
            let patience = patience
            Platform.Thread.start("side \(number)") {
                for index in stride(from: number, to: endings.count, by: 2) {
                    one.deliver(lent: OwnBatch(events, arrival: Clock.system.wall()), attempt: 1) { endings[index].put($0) }
                    _ = try? endings[index].wait(patience)
                }
                threads.withLock { $0 -= 1 }
                threads.wake()
            }.detach()
        }
        threads.wait(while: { $0 > 0 })
        for ending in endings { _ = try ending.wait(0) }
        for one in instances where one.strayCompletions > 0 { throw Broken("a delivery was ended more than once") }
    }
}
