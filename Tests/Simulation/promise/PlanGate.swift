// The gate of one plan, as a worker uses it: lines go in, and parcels come out. It uses the router's own judge and workers.

import Configuration
import DeadLetterStore
import Events
import Plans
import Platform
import Workers

@testable import Admission
@testable import ConsentGate
@testable import Judging

final class ParcelBox {
    var parcel: Parcel
    init(_ parcel: consuming Parcel) { self.parcel = parcel }
}

/// A worker with the block that it judges.
final class Desk {
    var worker: Worker
    init(_ ruleset: Ruleset) { worker = Worker(ruleset, lineLimit: 1 << 20, depth: 100, blockSize: 2048) }

    func takeParcels() -> [ParcelBox] {
        worker.parcels.indices.map { index in
            var full = Parcel()
            swap(&full, &worker.parcels[index])
            return ParcelBox(full)
        }
    }
}

final class PlanGate {
    let ruleset: Ruleset
    private var idle: [Desk] = []

    init(_ plan: Plan, records: ConsentRecords, levels: RunNames) {
        ruleset = Ruleset(plan, subjectKey: PlanGate.key, records: records, levels: levels)
    }

    static let key = [UInt8](0..<16)

    /// Returns a worker with an empty block.
    func takeDesk() -> Desk { idle.popLast() ?? Desk(ruleset) }

    func giveBack(_ desk: Desk) {
        desk.worker.reset()
        idle.append(desk)
    }

    /// Returns the parcel of a dead letter for each lane, as a replay judges it.
    func judge(_ letter: DeadLetter) -> [ParcelBox] {
        let desk = Desk(ruleset)
        let level = letter.level == "" ? 0 : Words.levels.firstIndex { $0 == letter.level } ?? Words.levels.count - 1
        desk.worker.judge.know(subjects: letter.subjects, level: level)
        letter.event.withUnsafeBytes { desk.worker.block.text.append(contentsOf: $0) }
        desk.worker.block.arrival = letter.arrival
        desk.worker.work()
        return desk.takeParcels()
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

    static func read(_ variation: Variation, _ hold: Scenario.Hold, _ plant: Plant?) -> Plan {
        do throws(ConfigurationFaults) {
            return try RoutesFile(environment: { _ in nil }, contents: { _ in .success([]) }, catalog: Modules())
                .read(Array(variation.text(hold, plant).utf8), file: "routes.json")
        } catch {
            fatalError("\(error.faults.map(\.description))")
        }
    }
}
