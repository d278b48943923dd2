// The checks of a source, which run in the child process. The router's side is scripted here: it takes blocks or refuses them, and
// acknowledges when and in which order a check wants.

import Glibc
import Ingest
import Plans
import Platform
import PluginHost

/// The router as a source meets it.
final class ScriptedRouter: SourceReceiver {
    struct Taken: Sendable {
        var token: UInt64
        var stream: UInt64
        var lines: [String]
        var numbers: [Int64]?
    }
    struct State: Sendable {
        var taken: [Taken] = []
        var open: Set<UInt64> = []
        /// The number of blocks that are still taken. The next ones have no room.
        var room = Int.max
        var refused = 0
        var isClosing = false
        var hasEnded = false
        /// What was wrong, if anything.
        var faults: [String] = []
        var late = 0
    }
    let state = Monitor(State())

    var lines: [String] { state.withLock { $0.taken.flatMap(\.lines) } }

    func take(_ block: RawSourceBlock) -> BlockVerdict {
        let text = Array(block.lines)
        let verdict = state.withLock { state -> BlockVerdict in
            if state.isClosing {
                state.late += 1
                return .closing
            }
            let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
            var faults: [String] = []
            if text.last != 0x0A { faults.append("the last line of a block has no end") }
            if lines.count != block.count { faults.append("a block of \(lines.count) lines has the count \(block.count)") }
            if state.open.contains(block.token) { faults.append("the token \(block.token) came twice before it was acknowledged") }
            if state.hasEnded { faults.append("a block came after the report that nothing more comes") }
            state.faults += faults
            guard faults.isEmpty else { return .wrong }
            guard state.room > 0 else {
                state.refused += 1
                return .full
            }
            state.room -= 1
            state.open.insert(block.token)
            state.taken.append(
                Taken(
                    token: block.token, stream: block.stream, lines: lines.map { String(decoding: $0, as: UTF8.self) },
                    numbers: block.numbers.map { Array(UnsafeBufferPointer(start: $0, count: block.count)) }))
            return .taken
        }
        state.wake()
        return verdict
    }

    func note(behind events: UInt64?, _ time: Duration?) {}
    func note(_ new: SourceState, _ message: String) {}

    func end(_ message: String) {
        state.withLock { $0.hasEnded = true }
        state.wake()
    }

    /// Acknowledges all blocks that are open, in this order.
    func acknowledge(_ instance: SourceInstance, by order: ([UInt64]) -> [UInt64] = { $0 }) {
        let tokens = state.withLock { state in
            let tokens = state.taken.map(\.token).filter { state.open.contains($0) }
            state.open = []
            return tokens
        }
        if !tokens.isEmpty { instance.acknowledge(order(tokens)) }
    }

    /// Waits until the condition is true. Returns false if the time is up.
    func wait(_ patience: Int, _ condition: (State) -> Bool) -> Bool {
        let until = Clock.system.now() + .seconds(patience)
        return state.waitUntilReady { state in
            if condition(state) { return .ready(true) }
            return Clock.system.now() >= until ? .ready(false) : .notBefore(until)
        }
    }
}

extension Suite {
    func sources(_ module: Module, _ source: SourceDescription, in folders: ModuleFolders, _ cases: [SourceCase]) {
        check("as a source, its description has a summary and a version") {
            if source.summary.isEmpty { throw Broken("its summary is empty") }
            if source.version.isEmpty { throw Broken("its version is empty") }
        }
        let good = cases.first { !$0.isRefused }
        for wrong in WrongSettings.all(of: source.settings, good: good?.settings ?? [:]) {
            check("as a source, settings are refused: \(wrong.way)") {
                do {
                    _ = try sourcePlan(module.description.name, wrong.settings, in: folders)
                } catch is ConfigurationFaults {
                    return
                }
                throw Broken("the schema accepts them")
            }
        }
        check("as a source, invalid settings are refused or accepted without a crash") {
            for text in WrongSettings.texts {
                let made = try? module.makeSource(settings: Secret(Array(text.utf8)), name: "in", lineLimit: 1000, log: { _, _ in })
                made?.close()
            }
        }
        for one in cases { check(one, module, in: folders) }
        if cases.isEmpty { Report.note("no case of 'sources': what the source hands over was not checked") }
    }

    private func make(_ one: SourceCase, _ module: Module, in folders: ModuleFolders) throws -> SourceInstance {
        let plan = try sourcePlan(module.description.name, one.settings, in: folders)
        return try module.makeSource(settings: plan.settings, name: "in", lineLimit: 16_000_000) { level, line in
            if level >= .warning { Report.note(line) }
        }
    }

    private func check(_ one: SourceCase, _ module: Module, in folders: ModuleFolders) {
        if one.isRefused {
            return check("\(one.name): refused") {
                guard let made = try? make(one, module, in: folders) else { return }
                made.close()
                throw Broken("an instance was made")
            }
        }
        check("\(one.name): create and destroy write nothing, connect to nothing and start nothing") {
            let before = Dependencies(folder)
            let instance = try make(one, module, in: folders)
            let made = before.news(folder)
            instance.close()
            if let news = made ?? before.news(folder) { throw Broken(news) }
        }
        check("\(one.name): it hands over \(one.lines) lines, again after an end without acknowledgement") {
            let first = try run(one, module, in: folders) { router, instance in try expect(one, router) }
            let second = try run(one, module, in: folders) { router, instance in try expect(one, router) }
            guard first == second else { throw Broken("the lines that were not acknowledged did not come again") }
        }
        check("\(one.name): a block that has no room comes again after resume, and nothing is lost or twice") {
            let all = try run(one, module, in: folders) { router, instance in try expect(one, router) }
            let slow = try run(one, module, in: folders, room: 0) { router, instance in
                guard router.wait(patience, { $0.refused > 0 }) else { throw Broken("it hands over nothing") }
                instance.pause()
                let refused = router.state.withLock { $0.refused }
                instance.resume()
                guard router.wait(patience, { $0.refused > refused }) else { throw Broken("it hands over nothing after resume") }
                router.state.withLock { $0.room = .max }
                instance.resume()
                try expect(one, router)
            }
            guard slow == all else { throw Broken("it handed over other lines than with room") }
        }
        check("\(one.name): it does not go on by itself while there is no room") {
            _ = try run(one, module, in: folders, room: 0) { router, instance in
                guard router.wait(patience, { $0.refused > 0 }) else { throw Broken("it hands over nothing") }
                instance.pause()
                let before = router.state.withLock { $0.refused }
                // A thread may be inside a call of submit when pause is called.
                guard !router.wait(1, { $0.refused > before + 4 }) else { throw Broken("it hands over again without a call of resume") }
            }
        }
        check("\(one.name): it takes acknowledgements in any order, also after stop") {
            for acknowledges in [false, true] {
                _ = try run(one, module, in: folders, acknowledges: acknowledges) { router, instance in
                    try expect(one, router)
                    if !acknowledges { router.acknowledge(instance) { $0.reversed() } }
                }
            }
        }
        check("\(one.name): no thread, process or descriptor is left after destroy") {
            let threads = Footprint.now().threads
            _ = try run(one, module, in: folders) { router, instance in try expect(one, router) }
            let until = Clock.system.now() + .seconds(patience)
            // The kernel lists a thread for a moment longer than a join takes.
            while Footprint.now().threads > threads {
                guard Clock.system.now() < until else { throw Broken("one of its threads still runs after destroy") }
                usleep(1000)
            }
            if Footprint.now().children > 0 { throw Broken("one of its processes still runs after destroy") }
        }
        if one.ends {
            check("\(one.name): it reports that nothing more comes") {
                _ = try run(one, module, in: folders) { router, instance in
                    try expect(one, router)
                    router.acknowledge(instance)
                    guard router.wait(patience, \.hasEnded) else { throw Broken("it has not reported its end within \(patience) s") }
                }
            }
        }
    }

    private func expect(_ one: SourceCase, _ router: ScriptedRouter) throws {
        guard router.wait(patience, { $0.taken.reduce(0) { $0 + $1.lines.count } >= one.lines || !$0.faults.isEmpty }) else {
            throw Broken("it handed over \(router.lines.count) lines within \(patience) s, expected \(one.lines)")
        }
    }

    /// Starts a source, lets the check act, stops it, acknowledges the rest if that is wanted, and destroys it. Returns the lines that it handed over.
    private func run(
        _ one: SourceCase, _ module: Module, in folders: ModuleFolders, room: Int = .max, acknowledges: Bool = false,
        _ body: (ScriptedRouter, SourceInstance) throws -> Void
    ) throws -> [String] {
        let instance = try make(one, module, in: folders)
        let router = ScriptedRouter()
        router.state.withLock { $0.room = room }
        instance.connect(router)
        instance.start()
        do {
            try body(router, instance)
        } catch {
            instance.stop(within: .seconds(Int64(patience)))
            instance.close()
            throw error
        }
        instance.stop(within: .seconds(Int64(patience)))
        router.state.withLock { $0.isClosing = true }
        if acknowledges { router.acknowledge(instance) { $0.reversed() } }
        instance.close()
        Report.goesOn()
        let state = router.state.withLock { $0 }
        if let fault = state.faults.first { throw Broken(fault) }
        if state.late > 0 { throw Broken("it handed over a block after stop had returned") }
        return Array(state.taken.flatMap(\.lines).prefix(one.lines))
    }
}
