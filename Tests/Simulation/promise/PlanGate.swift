// The gate of one plan, as a worker uses it: lines go in, and parcels come out. It uses the router's own judge.

import Configuration
import DeadLetterStore
import Events
import Plans
import Platform

@testable import Admission
@testable import ConsentGate
@testable import Judging

final class ParcelBox {
    var parcel: Parcel
    init(_ parcel: consuming Parcel) { self.parcel = parcel }
}

final class PlanGate {
    let ruleset: Ruleset
    private var judge: Judge
    private var scanner: Scanner
    private var tally: Tally
    private let parcels: UnsafeMutablePointer<Parcel>

    init(_ plan: Plan, records: ConsentRecords, levels: RunNames) {
        ruleset = Ruleset(plan, subjectKey: PlanGate.key, records: records, levels: levels)
        judge = Judge(ruleset)
        scanner = Scanner(ruleset.paths)
        tally = Tally(routes: ruleset.routeCount)
        parcels = .allocate(capacity: ruleset.providerCount)
        for index in 0..<ruleset.providerCount { (parcels + index).initialize(to: Parcel()) }
    }

    deinit {
        parcels.deinitialize(count: ruleset.providerCount)
        parcels.deallocate()
    }

    static let key = [UInt8](0..<16)

    /// Returns the parcel of a dead letter for each lane, as a replay judges it.
    func judge(_ letter: DeadLetter) -> [ParcelBox] {
        var judge = Judge(ruleset)
        let level = letter.level == "" ? 0 : Words.levels.firstIndex { $0 == letter.level } ?? Words.levels.count - 1
        judge.know(subjects: letter.subjects, level: level)
        return run([String(decoding: letter.event, as: UTF8.self)], arrival: letter.arrival, by: &judge)
    }

    /// Returns the parcel of these lines for each lane, in the order of the lanes.
    func judge(_ lines: [String], arrival: Int64) -> [ParcelBox] { run(lines, arrival: arrival, by: &judge) }

    private func run(_ lines: [String], arrival: Int64, by judge: inout Judge) -> [ParcelBox] {
        var block = Block()
        for line in lines { block.text.append(line + "\n") }
        block.seal()
        var at: UInt32 = 0
        for _ in lines {
            guard let event = scanner.scan(block.bytes, at) else { preconditionFailure("the simulation wrote an invalid event") }
            judge.judge(event, arrival: arrival, into: parcels, tally: &tally)
            at = scanner.lineEnd + 1
        }
        judge.countLeftOut(into: &tally)
        return (0..<ruleset.providerCount).map { index in
            var full = Parcel()
            swap(&full, &parcels[index])
            return ParcelBox(full)
        }
    }
}

/// Reads plans from their text, as a router does.
enum Plans {
    private struct Modules: ModuleCatalog {
        var names: [String] { ["noop"] }
        func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
            try ModuleDescription.read(json: #"{"name":"noop","version":"1","settings":{"type":"object"}}"#)
        }
    }

    static func read(_ variation: Variation) -> Plan {
        do throws(ConfigurationFaults) {
            return try RoutesFile(environment: { _ in nil }, contents: { _ in .success([]) }, catalog: Modules())
                .read(Array(variation.text.utf8), file: "routes.json")
        } catch {
            fatalError("\(error.faults.map(\.description))")
        }
    }
}
