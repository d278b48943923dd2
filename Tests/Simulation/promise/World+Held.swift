// The held events: what waits for an answer, what the router releases, and in which order. The model says what may be released and what
// must be gone.

import Generations
import HeldEventStore
import Ledger
import Platform
import Workers

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Events
@testable import Holding
@testable import Judging
@testable import Queueing

extension World {
    /// Begins to hold events, and takes over those that an earlier life has left.
    func hold() throws {
        guard scenario.holds else { return }
        let holding = try Holding(life, plans[variation], hands.clock)
        life.holding = holding
        if plant == .answers { life.registry.onChange { _ in } }
        holding.store.resume()
    }

    func holdingSteps(_ ready: inout [() throws -> Void]) {
        guard let holding = life.holding, !holding.isOver else { return }
        if let release = holding.release {
            guard let index = release.boxes.firstIndex(where: { !$0.parcel.isEmpty }), !life.lanes[index].isSourceAsleep else { return }
            ready.append { [self] in
                guard try take(release.boxes[index], life.lanes[index], release.receipt) else { return }
                if release.boxes.allSatisfy({ $0.parcel.isEmpty }) { holding.release = nil }
                holding.wake = 0
            }
        } else if let wake = holding.wake, wake <= now {
            ready.append { [self] in try look(at: holding) }
        }
    }

    /// True if nothing that was held is on its way, and nothing is to be released now.
    var isHoldingIdle: Bool {
        guard let holding = life.holding, !holding.isOver else { return true }
        return holding.release == nil && holding.wake.map { $0 > now } ?? true
    }

    /// Takes one step of the store.
    private func look(at holding: Holding) throws {
        for hold in holds where hands.wall - events[hold.event].received >= scenario.hold.nanoseconds { hold.mayHaveExpired = true }
        guard holding.step(at: instant, wall: hands.wall), let release = holding.release else { return }
        try check(release)
        if release.boxes.allSatisfy({ $0.parcel.isEmpty }) { holding.release = nil }
    }

    /// What is in the hands of the store when its life ends stays in the file.
    func dropRelease() {
        guard let holding = life.holding else { return }
        holding.release = nil
        for hold in holds where hold.releasedIn == lives && !hold.copies.allSatisfy(\.isAcknowledged) { hold.releasedIn = nil }
    }

    // MARK: - Storing

    struct HeldEntry {
        var event: Int
        var routes: [Int]
        var arrival: Int64
    }

    func heldEvents(_ desk: Desk) -> [HeldEntry] {
        (0..<desk.worker.judge.held.count).map { index in
            HeldEntry(
                event: World.number(desk.worker.judge.held.body(index), 0), routes: Array(desk.worker.judge.held.routes(index)),
                arrival: desk.worker.judge.held.arrival(index))
        }
    }

    /// Stores the events of a block that wait for an answer.
    func holdEvents(of block: Passing) throws {
        let held = heldEvents(block.desk)
        guard !held.isEmpty, let holding = life.holding else { return }
        let denied = holding.store.take(
            block.desk.worker.judge.held, holding.generations.current, source: block.mayWrite ? 0 : 1, key: 0)
        tell("held \(held.map(\.event))\(denied.isEmpty ? "" : ", but not \(denied.map { held[$0.event].event })")")
        try require(denied.isEmpty || scenario.hold.isBounded, "an event could not be held, and no limit is reached")
        for (index, entry) in held.enumerated() where !denied.contains(where: { $0.event == index }) {
            let hold = Hold(event: entry.event, routes: entry.routes)
            holds.append(hold)
            for withdrawal in written { heed(withdrawal, hold) }
        }
        noteRefusals()
        holding.wake = 0
    }

    // MARK: - What consent says

    func isDoomed(_ hold: Hold) -> Bool { isDoomed(hold, by: hold.dooms) }

    /// Returns true if these withdrawals refuse each of its routes.
    func isDoomed(_ hold: Hold, by dooms: [(receipt: Int64, purposes: Set<String>?)]) -> Bool {
        hold.routes.allSatisfy { route in
            let demanded = demands[route].demanded
            return dooms.contains { doom in doom.purposes.map { !$0.isDisjoint(with: demanded) } ?? !demanded.isEmpty }
        }
    }

    /// Returns true if one of its routes may be refused it by what is on record, or by the plan.
    func isRefused(_ hold: Hold) -> Bool {
        let ids = events[hold.event].ids
        guard promise.allowed(ids) != nil else { return !scenario.variations[variation].holds }
        // The event itself may refuse too.
        return !hold.routes.allSatisfy { promise.admits(events[hold.event], demands[$0].demanded, assumed: nil) }
    }

    func heed(_ withdrawal: Withdrawal, _ hold: Hold) {
        guard events[hold.event].received <= withdrawal.time, !withdrawal.person.isDisjoint(with: events[hold.event].ids) else { return }
        let doom = (withdrawal.receipt, withdrawal.purposes)
        if isDoomed(hold, by: [doom]), !hold.wasRefused {
            hold.wasRefused = true
            if !hold.mayHaveExpired { hold.isFirstRefusedByWithdrawal = withdrawal.receipt > 0 }
        }
        if withdrawal.isAcknowledged { hold.dooms.append(doom) }
    }

    func sweepHolds(_ receipt: Int64) throws {
        guard let holding = life.holding else { return }
        for hold in holds where !isDoomed(hold) { hold.dooms.removeAll { $0.receipt <= receipt } }
        if plant != .held { life.withdrawals[0].places["held events"] = try holding.store.sweep(life.check) }
        holding.store.endWithdrawal()
        holding.wake = 0
    }

    // MARK: - Releasing

    /// Requires that these events may be released, and that no earlier one is left behind.
    private func check(_ release: Release) throws {
        var seen: [(event: Int, route: Int)] = []
        for (lane, box) in release.boxes.enumerated() {
            var all = numbers(box.parcel.bytes.bytes, box.parcel.entries)
            if plant == .turn { all.reverse() }
            try require(zip(all, all.dropFirst()).allSatisfy { $0.event <= $1.event }, "held events are released as \(all)")
            for (event, route) in all {
                seen.append((event, route))
                guard let hold = holds.last(where: { $0.event == event }), hold.routes.contains(route) else {
                    throw Breach(words: "event \(event) is released, and was not held for r\(route)")
                }
                try require(hold.releasedIn != lives, "event \(event) is released twice")
                let permit = permit(event)
                try require(
                    permit.routes.contains(route) && permit.keepsField == box.hasField(event),
                    "event \(event) of \(events[event].ids) is released to r\(route); on record \(promise.said) of \(promise.persons)")
                copyReleased(hold, route, lane, keepsField: permit.keepsField)
            }
        }
        tell("released \(seen.map(\.event))")
        for (event, route) in seen {
            let earlier = holds.first { hold in
                hold.event < event && hold.releasedIn == nil && !hold.wasRefused && !hold.mayBeLost && !hold.mayHaveExpired
                    && hold.routes.contains(route) && !Set(events[hold.event].ids).isDisjoint(with: events[event].ids)
                    && promise.allowed(events[hold.event].ids) != nil && permit(hold.event).routes.contains(route)
                    && !seen.contains { $0.event == hold.event }
            }
            if let earlier { throw Breach(words: "event \(event) is released before event \(earlier.event)") }
        }
        for event in Set(seen.map(\.event)) { holds.last { $0.event == event }?.releasedIn = lives }
    }

    private func copyReleased(_ hold: Hold, _ route: Int, _ lane: Int, keepsField: Bool) {
        let known = knownCopy(hold.event, route, lane)
        let copy = known ?? makeCopy(hold.event, route, lane, keepsField: keepsField)
        if known == nil {
            hold.copies.append(copy)
            copy.dooms = hold.dooms
            copy.wasRefused = hold.wasRefused || isRefused(copy)
        }
        copy.isGone = false
        copy.releases += 1
    }

    // MARK: - The end

    /// Requires that what nobody has answered still waits, and that nothing else does.
    /// Returns those that are missing after damage.
    func checkHolds() throws -> [Int] {
        guard life.holding != nil else { return [] }
        guard let file = try HeldFile(lookingAt: life.folder.path + "/" + HeldFile.name, names: life.names) else {
            try require(holds.isEmpty, "the file of held events is not there")
            return []
        }
        defer { file.close() }
        var rows: [HeldRow] = []
        try file.readAll { rows.append($0) }
        let left = try Set(rows.compactMap { row in try file.event(row.id)?.body.withUnsafeBytes { World.number($0, 0) } })
        var missing: [Int] = []
        for hold in holds where hold.releasedIn == nil {
            let ids = events[hold.event].ids
            let isHere = left.contains(hold.event)
            try require(!isHere || !isDoomed(hold), "event \(hold.event) is held, after receipt \(hold.dooms.map(\.receipt))")
            try require(
                !isHere || promise.allowed(ids) == nil || hold.mayHaveExpired, "event \(hold.event) of \(ids) is held after an answer")
            if isHere || hold.wasRefused || hold.mayHaveExpired { continue }
            try require(hold.mayBeLost, "event \(hold.event) of \(ids) was held, and is lost")
            missing.append(hold.event)
        }
        return missing
    }
}

extension Scenario.Hold {
    var nanoseconds: Int64 { Int64(milliseconds) * World.millisecond }
}
