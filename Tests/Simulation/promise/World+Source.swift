// The events: they are read in blocks, judged by the router's gate, and handed over to the lanes in order. The model checks what the gate
// admits.

import Platform

@testable import Admission
@testable import Delivery
@testable import Events
@testable import Queueing

extension World {
    /// The number of blocks that can be in flight at once.
    private static let workers = 2

    func sourceSteps(_ ready: inout [() throws -> Void]) {
        if !life.isEnding, events.count < scenario.events, nextBlock <= now, life.passing.count < World.workers { ready.append(read) }
        for block in life.passing where block.parcels == nil { ready.append { [self] in try judge(block) } }
        if let first = life.passing.first, first.parcels != nil, !first.isBlocked(life) { ready.append { [self] in try handOver(first) } }
        if life.isEnding, life.passing.isEmpty, life.lanes.contains(where: { !$0.isAbsent && $0.state.phase == .open }) {
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
        tell("read \(numbers.map { "\($0) of \(events[$0].ids)" })")
        life.blocksRead += 1
        life.passing.append(Passing(events: numbers, arrival: hands.wall, gatehouse: life.gatehouse))
        nextBlock = now + Int64(roll(roll(4) == 0 ? 3000 : 60)) * World.millisecond
    }

    private func event(number: Int) -> Event {
        var ids: [String] = []
        var members = ""
        for member in Words.members where roll(member == "userId" ? 8 : 2) > 0 {
            let id = Words.people[roll(UInt64(Words.people.count))]
            ids.append(id)
            members += ",\"\(member)\":\"\(id)\""
        }
        let own = roll(6) == 0 ? roll(4) : nil
        if let own { members += ",\"context\":{\"consent\":{\"level\":\"\(Words.levels[own])\"}}" }
        let hasField = roll(3) > 0
        let padding = String(repeating: "x", count: roll(roll(10) == 0 ? 400 : 30))
        return Event(
            ids: ids, own: own, isPoison: UInt64(roll(100)) < scenario.poison, hasField: hasField,
            text: "{\"note\":\"note-\(number).\(padding)\"\(hasField ? ",\"field\":1" : "")\(members)}", received: hands.wall)
    }

    private func judge(_ block: Passing) throws {
        let parcels = block.gatehouse.judge(block.events.map { events[$0].text }, arrival: block.arrival)
        if plant == .fields { for box in parcels { forgetFields(box) } }
        block.parcels = parcels
        for (lane, box) in parcels.enumerated() {
            let admitted = numbers(box.parcel.bytes.bytes, box.parcel.entries)
            let wanted = block.events.flatMap { event in
                demands.indices.filter { route in
                    demands[route].lanes.contains(lane)
                        && promise.admits(
                            events[event].ids, own: events[event].own, demands[route].demanded,
                            assumed: scenario.variations[variation].assumed)
                }.map { (event, $0) }
            }
            try require(
                admitted.elementsEqual(wanted) { $0 == $1 },
                "lane \(lane): the gate admits \(admitted), the model \(wanted); on record \(promise.said) of \(promise.persons)")
            for (index, (event, route)) in admitted.enumerated() {
                let keepsField = keepsField(event)
                try require(
                    box.hasField(index) == keepsField,
                    "event \(event) \(keepsField ? "loses" : "has") its field; on record \(promise.said) of \(promise.persons)")
                copyNumbers[World.number(event, route, lane)] = copies.count
                let level = max(demands[route].level, keepsField ? scenario.variations[variation].field : 0)
                let copy = Copy(event: event, route: route, lane: lane, admitted: Words.purposes(of: level))
                copies.append(copy)
                for withdrawal in written { heed(withdrawal, copy) }
            }
        }
        tell("judged \(block.events)")
    }

    /// Returns true if the event came with the field and may keep it.
    private func keepsField(_ event: Int) -> Bool {
        guard events[event].hasField else { return false }
        let variation = scenario.variations[variation]
        return promise.level(events[event].ids, own: events[event].own, assumed: variation.assumed) >= variation.field
    }

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
            // A plan without this provider has no route to it.
            if lane.isAbsent {
                for copy in copies(of: box, lane.index) { copy.isGone = true }
                box.parcel.removeAll()
                continue
            }
            if lane.state.mustWait(for: box.parcel.byteCount) {
                lane.wake()
                lane.isSourceAsleep = true
                return
            }
            let parts = copies(of: box, lane.index)
            // The simulation has only one thread, and it settles the receipt.
            nonisolated(unsafe) let taken = parts
            let receipt = Receipt { for copy in taken { copy.isAcknowledged = true } }
            receipt.add()
            receipt.settle()
            lane.taken += parts.count
            tell("\(Words.lanes[lane.index]) takes \(parts.map(\.event))")
            let effects = lane.state.take(&box.parcel, receipt, at: instant)
            lane.wake()
            try carryOut(effects, lane)
        }
        life.passing.removeFirst()
        life.blocksHandedOver += 1
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
    private func numbers(_ bytes: UnsafeRawBufferPointer, _ entries: UnsafeBufferPointer<Entry>) -> [(event: Int, route: Int)] {
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
    /// Returns true if the event at this index keeps its field.
    fileprivate func hasField(_ index: Int) -> Bool {
        let entries = parcel.entries
        let start = index == 0 ? 0 : Int(entries[index - 1].end)
        return String(decoding: parcel.bytes.bytes[start..<Int(entries[index].end)], as: UTF8.self).contains("\"field\":1")
    }
}

extension Passing {
    /// Returns true if a lane has no space for it and was not woken since.
    fileprivate func isBlocked(_ life: Life) -> Bool {
        zip(life.lanes, parcels ?? []).contains { lane, box in !lane.isAbsent && !box.parcel.isEmpty && lane.isSourceAsleep }
    }
}
