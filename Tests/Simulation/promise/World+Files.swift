// What people do with the files of the state folder while no router has it: providers vanish and return, queues are moved away and come
// back, and files are set aside as damaged. And how a withdrawal reaches these files.

import Platform
import StateFiles
import Withdrawal

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Ledger
@testable import Queueing
@testable import Spool

extension World {
    /// Changes the folder between two lives. Returns the lanes whose provider the next life does not have.
    func rearrange(_ folder: Folder) throws -> Set<Int> {
        var absent: Set<Int> = []
        for lane in scenario.lanes.indices where scenario.lanes[lane].isDurable {
            let isAway = !isHealed && roll(5) == 0
            if isAway { absent.insert(lane) }
            // A queue comes back before its provider does, so that the provider never makes a second one.
            if let files = shelf[lane], !isAway || roll(2) == 0 {
                tell("the queue of \(Words.lanes[lane]) comes back")
                for file in files { folder.write(file.name, file.bytes) }
                shelf[lane] = nil
            } else if isAway, shelf[lane] == nil, roll(3) == 0 {
                let names = folder.files.filter { $0.hasPrefix("spool-\(Words.lanes[lane]).") }
                tell("the queue of \(Words.lanes[lane]) is moved away")
                shelf[lane] = names.map { ($0, folder.take($0)) }
            }
            if roll(12) == 0 { setAside(lane, folder) }
        }
        return absent
    }

    /// Leaves a copy of the queue as if it had been set aside as damaged.
    private func setAside(_ lane: Int, _ folder: Folder) {
        damagedCount += 1
        for name in folder.files.filter({ $0.hasPrefix("spool-\(Words.lanes[lane]).sqlite") && !$0.contains("damaged") }) {
            guard let companion = ["", "-wal"].first(where: { name.hasSuffix(".sqlite" + $0) }) else { continue }
            tell("\(name) is set aside")
            let bytes = Folder.contents(of: folder.path + "/" + name)
            folder.write("spool-\(Words.lanes[lane]).sqlite.damaged-\(damagedCount)\(companion)", bytes)
        }
    }

    /// Searches the files without a lane, as the router does.
    func searchStrays(isForWithdrawal: Bool) throws {
        let places = sweepStrays(isForWithdrawal: isForWithdrawal)
        try require(!places.values.contains(where: \.isCut), "a file without a provider could not be searched")
        try life.steps.settle(places.mapValues(\.destroyed))
    }

    func sweepStrays(isForWithdrawal: Bool) -> [String: Swept] {
        var options = SpoolFile.Options()
        options.clock = hands.clock
        options.levels = life.levels
        options.pageSize = 4096
        let spools = StraySpools(folder: life.folder.path, names: life.names, options: options, say: life.say)
        for lane in life.lanes where !lane.isAbsent { spools.use(Words.lanes[lane.index]) }
        return spools.sweep(plant == .forgets ? life.laneCheck : life.check, isForWithdrawal: isForWithdrawal && plant != .aside).mapValues
        {
            var swept = Swept()
            (swept.destroyed, swept.isCut) = ($0.destroyed, $0.isCut)
            return swept
        }
    }

    /// Writes to the receipts what the lanes have destroyed, as the router does at its start and at its end.
    func settleLanes() throws {
        if plant == .uncounted { return }
        var places: [String: Destroyed] = [:]
        for lane in life.lanes where !lane.isAbsent { places["queue of \(Words.lanes[lane.index])"] = lane.state.destroyed }
        try life.steps.settle(places)
    }
}

extension Life {
    /// With the planted bug `forgets`: the lanes know only this withdrawal.
    func banLanes(_ receipt: Int64) throws {
        try registry.use { [laneCheck] (file) throws(StorageFault) in
            if let found = try file.receipts(after: receipt - 1, most: 1).first { laneCheck.ban(found) }
            return ((), [])
        }
    }
}
