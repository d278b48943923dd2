// The events: they are read in blocks, judged by the router's workers, and handed over to the lanes in order. The model checks what the
// gate admits.

import Platform
import Statements
import Workers

@testable import Admission
@testable import Delivery
@testable import Events
@testable import Ledger
@testable import Queueing

extension World {
    /// The number of blocks that can be in flight at once.
    private static let workers = 2

    func sourceSteps(_ ready: inout [() throws -> Void]) {
        if !life.isEnding, events.count < scenario.events, nextBlock <= now, life.passing.count < World.workers { ready.append(read) }
        for block in life.passing where block.early == nil { ready.append { [self] in judge(block) } }
        if let first = life.passing.first {
            if first.parcels != nil {
                if !first.isBlocked(life) { ready.append { [self] in try handOver(first) } }
            } else if first.early != nil {
                ready.append { [self] in try settle(first) }
            }
        }
        if life.isEnding, life.passing.isEmpty, isHoldingIdle, life.lanes.contains(where: { !$0.isAbsent && $0.state.phase == .open }) {
            ready.append { [self] in drainLanes() }
        }
    }

    private func read() {
        now += 1
        var numbers: [Int] = []
        for _ in 0..<min(1 + roll(4), scenario.events - events.count) {
            numbers.append(events.count)
            events.append(event(number: events.count))
        }
        let mayWrite = roll(3) > 0
        tell("read \(numbers.map { "\($0) of \(events[$0].ids) \(events[$0].statement)" })\(mayWrite ? "" : ", which may only refuse")")
        life.blocksRead += 1
        life.passing.append(Passing(events: numbers, mayWrite: mayWrite, gatehouse: life.gatehouse))
        nextBlock = now + Int64(roll(roll(4) == 0 ? 3000 : 60)) * World.millisecond
    }

    private func event(number: Int) -> Event {
        var event = Event(members: [:], isPoison: UInt64(roll(100)) < scenario.poison, hasField: roll(3) > 0, received: hands.wall)
        if UInt64(roll(100)) < scenario.statements { event.statement = Statement(&random) }
        var text = "{\"note\":\"note-\(number).\(String(repeating: "x", count: roll(roll(10) == 0 ? 400 : 30)))\""
        for member in Words.members where roll(member == "userId" ? 8 : 2) > 0 {
            if roll(40) == 0 {
                (event.hasBrokenID, event.signals.isBroken) = (true, true)
                if plant != .subjects { text += ",\"\(member)\":\(Signals.brokenIDs[roll(4)])" }
                continue
            }
            let id = Words.people[roll(UInt64(Words.people.count))]
            event.members[member] = id
            // A whole number and its text are the same id.
            text += ",\"\(member)\":\(id == Words.people.last && roll(2) == 0 ? id : "\"\(id)\"")"
        }
        if event.hasField { text += ",\"field\":1" }
        text += event.statement.members
        say(&event)
        text += event.signals.text
        if event.statement != .none, roll(3) == 0 {
            // Some decisions were made earlier, and some clocks are ahead.
            event.time = hands.wall + Int64(roll(6_000_000_000)) - 5_000_000_000
            text += ",\"timestamp\":\"\(Statement.text(of: event.time!))\""
        }
        event.text = text + "}"
        return event
    }

    /// Lets the event say something about consent.
    private func say(_ event: inout Event) {
        if case .preferences(let purposes) = event.statement {
            event.signals.grant(Set(purposes.filter(\.value).keys))
            return
        }
        if roll(6) == 0 {
            let level = roll(4)
            event.signals.grant(Words.purposes(of: level))
            event.signals.consent.append("\"level\":\"\(Words.levels[level])\"")
        }
        guard roll(8) == 0 else { return }
        if roll(10) == 0 {
            // A context that is no object says nothing that can be read.
            event.signals.isBroken = true
            event.signals.consent = []
            event.signals.members += ",\"context\":\"none\""
            return
        }
        event.signals.add(&random)
        // With this planted bug, the gate does not hear what other parties say.
        if plant == .signals { (event.signals.members, event.signals.context) = ("", []) }
    }

    /// Judges a block, while other blocks are judged and the ledger changes.
    private func judge(_ block: Passing) {
        now += 1
        block.arrival = hands.wall
        life.registry.note(time: block.arrival)
        block.desk.worker.block.source = block.mayWrite ? 0 : 1
        block.desk.worker.block.arrival = block.arrival
        for event in block.events { block.desk.worker.block.text.append(events[event].text + "\n") }
        life.writer.prepare(&block.desk.worker, block.gatehouse.ruleset)
        block.desk.worker.work()
        block.early = block.events.map(permit)
        block.changesBefore = streamChanges.count
        tell("judged \(block.events)")
    }

    /// Returns what may be done with the event by the promise as it is.
    func permit(_ number: Int) -> Permit {
        let (event, variation) = (events[number], scenario.variations[variation])
        // No route asks for events that speak to the ledger.
        if event.statement.isForLedger { return Permit(routes: [], keepsField: false) }
        let routes = demands.indices.filter {
            promise.admits(event, demands[$0].demanded, assumed: variation.assumed)
        }
        let isOpen = variation.holds && !event.signals.decides && !event.ids.isEmpty && promise.allowed(event.ids) == nil
        let level = promise.level(event, assumed: variation.assumed)
        return Permit(
            routes: routes, held: isOpen ? demands.indices.filter { !routes.contains($0) } : [],
            keepsField: event.hasField && !routes.isEmpty && level >= variation.field)
    }

    /// Makes the copies of a block whose statements are in the ledger. `permits` has for each event what may have been decided.
    func makeCopies(_ block: Passing, _ permits: [[Permit]]) throws {
        let parcels = block.desk.takeParcels()
        if plant == .fields { for box in parcels { forgetFields(box) } }
        block.parcels = parcels
        let admitted = parcels.map { numbers($0.parcel.bytes.bytes, $0.parcel.entries) }
        var decided: [Int: Permit] = [:]
        let held = heldEvents(block.desk)
        for (event, allowed) in zip(block.events, permits) {
            let routes = Set(admitted.joined().filter { $0.event == event }.map(\.route)).sorted()
            let keepsField = parcels.contains { $0.hasField(event) }
            decided[event] = Permit(routes: routes, held: held.first { $0.event == event }?.routes ?? [], keepsField: keepsField)
            try require(
                allowed.contains(decided[event]!),
                "the gate says \(decided[event]!) of event \(event), the model \(allowed); on record \(promise.said) of \(promise.persons)")
        }
        for (lane, box) in parcels.enumerated() {
            let wanted = block.events.flatMap { event in
                decided[event]!.routes.filter { demands[$0].lanes.contains(lane) }.map { (event, $0) }
            }
            try require(
                admitted[lane].elementsEqual(wanted) { $0 == $1 }, "lane \(lane) gets \(admitted[lane]), the model says \(wanted)")
            for (entry, (event, route)) in zip(box.parcel.entries, admitted[lane]) {
                try checkArrival(entry.arrival, of: event, demanding: demands[route].demanded, in: block)
                let copy = makeCopy(event, route, lane, keepsField: decided[event]!.keepsField)
                for withdrawal in written { heed(withdrawal, copy) }
            }
        }
        for one in held {
            for route in one.routes { try checkArrival(one.arrival, of: one.event, demanding: demands[route].demanded, in: block) }
        }
    }

    func makeCopy(_ event: Int, _ route: Int, _ lane: Int, keepsField: Bool) -> Copy {
        copyNumbers[World.number(event, route, lane)] = copies.count
        let level = max(demands[route].level, keepsField ? scenario.variations[variation].field : 0)
        let copy = Copy(event: event, route: route, lane: lane, admitted: Words.purposes(of: level))
        copies.append(copy)
        return copy
    }

    func knownCopy(_ event: Int, _ route: Int, _ lane: Int) -> Copy? { copyNumbers[World.number(event, route, lane)].map { copies[$0] } }

    /// The planted bug `fields`: sets the level of each entry to the level of its route.
    private func forgetFields(_ box: ParcelBox) {
        let entries = UnsafeMutableBufferPointer(mutating: box.parcel.entries)
        for index in entries.indices {
            let level = demands[Int(entries[index].route)].level
            let number = life.levels.number(of: Words.levels[level])
            entries[index].level = level == 0 ? EntryLevel.none : EntryLevel.entry(of: number)
        }
    }

    private func handOver(_ block: Passing) throws {
        for (lane, box) in zip(life.lanes, block.parcels!) where !box.parcel.isEmpty {
            guard try take(box, lane, nil) else { return }
        }
        life.passing.removeFirst()
        block.gatehouse.giveBack(block.desk)
        life.blocksHandedOver += 1
    }

    /// Lets a lane take a parcel. Returns false if it has no room.
    func take(_ box: ParcelBox, _ lane: LaneLife, _ other: Receipt?) throws -> Bool {
        // A plan without this provider has no route to it.
        if lane.isAbsent {
            for copy in copies(of: box, lane.index) { (copy.isGone, copy.isAcknowledged) = (true, true) }
            box.parcel.removeAll()
            other?.settle()
            return true
        }
        if lane.state.mustWait(for: box.parcel.byteCount) {
            lane.wake()
            lane.isSourceAsleep = true
            return false
        }
        let parts = copies(of: box, lane.index)
        // The simulation has only one thread, and it settles the receipt.
        nonisolated(unsafe) let taken = parts
        let receipt = Receipt {
            for copy in taken { copy.isAcknowledged = true }
            other?.settle()
        }
        receipt.add()
        receipt.settle()
        lane.taken += parts.count
        tell("\(Words.lanes[lane.index]) takes \(parts.map(\.event))")
        let effects = lane.state.take(&box.parcel, receipt, at: instant)
        lane.wake()
        try carryOut(effects, lane)
        return true
    }

    private static func number(_ event: Int, _ route: Int, _ lane: Int) -> Int { (event * 3 + route) * 2 + lane }

    func copy(_ event: Int, _ route: Int, _ lane: Int) -> Copy { copies[copyNumbers[World.number(event, route, lane)]!] }

    func copies(of box: ParcelBox, _ lane: Int) -> [Copy] {
        numbers(box.parcel.bytes.bytes, box.parcel.entries).map { copy($0.event, $0.route, lane) }
    }

    func copies(of batch: Batch, _ lane: Int) -> [Copy] {
        numbers(batch.bytes, batch.entries).map { copy($0.event, $0.route, lane) }
    }

    /// Returns the number and the route of each entry.
    func numbers(_ bytes: UnsafeRawBufferPointer, _ entries: UnsafeBufferPointer<Entry>) -> [(event: Int, route: Int)] {
        var start = 0
        return entries.map { entry in
            defer { start = Int(entry.end) }
            return (World.number(bytes, start), Int(entry.route))
        }
    }

    /// Reads the number of an event, which begins like `{"note":"note-17.`.
    static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var number = 0
        var at = start + 14
        while bytes[at] >= 0x30, bytes[at] <= 0x39 {
            number = number * 10 + Int(bytes[at] - 0x30)
            at += 1
        }
        return number
    }
}

extension ParcelBox {
    /// Returns true if a copy of the event keeps its field.
    func hasField(_ event: Int) -> Bool {
        var start = 0
        for entry in parcel.entries {
            defer { start = Int(entry.end) }
            guard World.number(parcel.bytes.bytes, start) == event else { continue }
            return String(decoding: parcel.bytes.bytes[start..<Int(entry.end)], as: UTF8.self).contains("\"field\":1")
        }
        return false
    }
}

extension Passing {
    /// Returns true if a lane has no space for it and was not woken since.
    fileprivate func isBlocked(_ life: Life) -> Bool {
        zip(life.lanes, parcels ?? []).contains { lane, box in !lane.isAbsent && !box.parcel.isEmpty && lane.isSourceAsleep }
    }
}
