// Damage to the files of waiting events between two lives: one flipped bit in a queue, in the held events or in the dead letters. The router
// may lose events of that file, as many as it reports. It never hands over a refused event that the damage has brought back.

import DeadLetterStore
import HeldEventStore
import Platform

@testable import Delivery
@testable import Holding
@testable import Queueing
@testable import Spool

/// The damaged files and what the router has said of them, over all lives.
final class DamageLog {
    /// Every message that the router has printed.
    let said = Monitor<[String]>([])
    /// The names of the files that were damaged, without what follows `.sqlite`.
    private(set) var files: Set<String> = []
    /// For each file, the number of events that were reported as lost.
    private(set) var lost: [String: Int] = [:]
    /// The files of which a loss was only printed.
    private var printed: Set<String> = []

    var isEmpty: Bool { files.isEmpty }

    func isDamaged(_ lane: LaneLife) -> Bool { files.contains(World.queue(lane.index)) }
    func damage(_ file: String) { files.insert(file) }
    func lose(_ events: Int, of file: String) { lost[file, default: 0] += events }
    func notePrinted(_ file: String) { printed.insert(file) }

    /// Requires that as many events of a file were reported as lost as are missing.
    func check(_ missing: [Int], of file: String) throws {
        if missing.isEmpty { return }
        let words = said.withLock { said in said.filter { $0.contains(file + ".") } }
        guard !words.isEmpty else { throw Breach(words: "events \(missing) of \(file) were lost without a word") }
        let isVague = words.contains { $0.contains("at least") || $0.contains("unknown number") }
        if isVague || printed.contains(file) { return }
        let lost = lost[file] ?? 0
        if missing.count > lost { throw Breach(words: "events \(missing) of \(file) were lost, and \(lost) are reported: \(words)") }
    }
}

extension World {
    static func queue(_ lane: Int) -> String { "spool-\(Words.lanes[lane])" }
    static let letters = "dead-letters"
    static let held = "held"

    /// Flips one bit in a file of waiting events. `absent` are the lanes without a provider in the next life.
    func damageFiles(in folder: Folder, absent: Set<Int>) {
        let kinds = scenario.lanes.indices.map(World.queue) + [World.letters, World.held]
        let found = folder.files.compactMap { name -> (name: String, kind: String)? in
            guard let kind = kinds.first(where: { name.hasPrefix($0 + ".") }) else { return nil }
            // What was set aside is damaged already, and nobody reads the index of a log after a kill.
            return name.contains("damaged") || name.hasSuffix("-shm") ? nil : (name, kind)
        }
        guard !found.isEmpty else { return }
        let kind = found[roll(UInt64(found.count))].kind
        let files = found.filter { $0.kind == kind }
        let name = files[roll(UInt64(files.count))].name
        var bytes = Folder.contents(of: folder.path + "/" + name)
        guard !bytes.isEmpty else { return }
        // The end of a log has the last transactions.
        let place = roll(2) == 0 ? roll(UInt64(bytes.count)) : bytes.count - 1 - roll(UInt64(min(bytes.count, 12_000)))
        bytes[place] ^= 1 << UInt8(roll(8))
        folder.write(name, bytes)
        tell("byte \(place) of \(name) is changed")
        damageLog.damage(kind)
        for copy in copies {
            if copy.letters > 0, kind == World.letters { copy.mayBeLostIn.insert(kind) }
            guard kind == World.queue(copy.lane) else { continue }
            copy.mayBeLostIn.insert(kind)
            // The record that it has left the queue may be lost.
            if copy.letters > 0 { copy.mayWaitBesideLetter = true }
        }
        if kind == World.held { for hold in holds { hold.mayBeLost = true } }
        for lane in absent where kind == World.queue(lane) { damageLog.notePrinted(kind) }
    }

    /// Lets a lane know what its store has lost, as the thread of the store does after each step.
    func reportLoss(_ lane: LaneLife) throws {
        guard let loss = lane.store?.takeLoss() else { return }
        if plant == .losses { return }
        let count = loss.routes.values.reduce(0, +)
        tell("\(Words.lanes[lane.index]) has lost \(count)")
        lane.lost += count
        damageLog.lose(count, of: World.queue(lane.index))
        try carryOut(lane.state.lost(loss), lane)
    }

    /// Takes over what this life has counted as lost, at its end.
    func noteLosses() {
        for lane in life.lanes where lane.store?.loss != nil { damageLog.notePrinted(World.queue(lane.index)) }
        damageLog.lose(life.deadLetters.damage.lost, of: World.letters)
        if let holding = life.holding { damageLog.lose(holding.store.status.damaged, of: World.held) }
    }
}
