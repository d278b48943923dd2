// The source of the simulation: it makes parcels, offers them to the lane, and checks what is acknowledged.

import Platform

@testable import Admission
@testable import Events
@testable import Queueing

extension World {
    func offer() throws {
        if parcel == nil { make() }
        guard let (numbers, box) = parcel else { return }
        if life.state.mustWait(for: box.parcel.byteCount) {
            wake()
            life.isSourceAsleep = true
            return
        }
        let isStoring = setup.kind == .durable
        // The simulation has only one thread, and it settles the receipt.
        nonisolated(unsafe) let world = self
        let receipt = Receipt { world.acknowledged(numbers, isStoring) }
        receipt.add()
        receipt.settle()
        for number in numbers {
            events[number].isTaken = true
            events[number].takenIn = lives
        }
        life.taken += numbers.count
        tell("taken \(numbers)")
        let effects = life.state.take(&box.parcel, receipt, at: instant)
        parcel = nil
        nextParcel = now + Int64(roll(UInt64(setup.pause))) * World.millisecond
        // As `Lane.take` does, so that a thread that is not woken and has work is found.
        if life.state.needsAttention(at: instant) { life.laneWake = 0 }
        if life.state.hasStoreWork { life.diskWake = 0 }
        try carryOut(effects, wakes: false)
        try require(heldIsBounded, "\(life.state.heldBytes) bytes are in memory: \(standing)")
        if events.count == setup.events {
            life.state.isSourceBusy = false
            wake()
        }
    }

    func make() {
        var made = Parcel()
        var numbers: [Int] = []
        for _ in 0..<min(1 + Int(roll(6)), setup.events - events.count) {
            let number = events.count
            let text = "\(number)" + String(repeating: ".", count: Int(roll(roll(20) == 0 ? 300 : 20))) + "\n"
            made.bytes.append(text)
            made.entryColumn.append(
                Entry(
                    end: UInt32(made.bytes.count), route: 0, isImmediate: roll(10) == 0, subjectCount: 0, firstSubject: 0,
                    messageIDOffset: 0,
                    messageIDCount: 0, arrival: now))
            events.append(Event(isPoison: Double(roll(1000)) < setup.poison * 1000, size: text.utf8.count))
            numbers.append(number)
        }
        parcel = (numbers, ParcelBox(made))
    }

    func acknowledged(_ numbers: [Int], _ isStoring: Bool) {
        tell("acknowledged \(numbers)")
        let stored = isStoring ? Set(store.events) : []
        for number in numbers {
            events[number].isAcknowledged = true
            if isStoring, !drops, !stored.contains(number), events[number].fate == nil {
                breachOfPromise = "event \(number) was acknowledged and is not stored"
            }
        }
    }

    var heldIsBounded: Bool {
        let largest = 6 * 310
        return life.state.heldBytes <= 2 * roomiest + 2 * largest
    }
}
