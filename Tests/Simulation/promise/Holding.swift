// The held events of one life: the router's own store, which gives what it releases to the simulation instead of to lanes.

import Generations
import HeldEventStore
import Ingest
import Plans
import Platform

@testable import Admission
@testable import Delivery
@testable import Holding
@testable import Judging
@testable import Queueing

/// Events that the store has released, and that the lanes take one after the other.
struct Release {
    /// The parcel of each lane.
    var boxes: [ParcelBox]
    let receipt: Receipt
}

final class Holding {
    let store: HeldStore
    let generations: GenerationRegistry
    let judge: HeldJudge
    private let destinations: [Destination]
    private let outbox: Outbox
    /// The time of the next look at the store. 0 means now, and nil means when woken.
    var wake: Int64? = 0
    /// What the lanes have to take before the next step.
    var release: Release?
    /// True if the lanes take nothing more.
    var isOver = false

    /// Where the store puts what it releases. The simulation has only one thread.
    private final class Outbox: @unchecked Sendable {
        var release: Release?
    }

    private final class NoProvider: Provider {
        func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) { done(BatchOutcome(.delivered)) }
        func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
        func reopen() {}
        func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
        func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {}
        func close() {}
    }

    init(_ life: Life, _ plan: Plan, _ clock: Clock) throws {
        destinations = Words.lanes.enumerated().map { index, name in
            let provider = NoProvider()
            let lane = Lane(
                name: name, provider: provider, plan: DeliveryPlan(), concurrency: 1, routes: life.names, deadLetters: life.deadLetters,
                clock: clock, random: RandomSource(seed: 0), news: { _, _ in })
            return Destination(index: index, lane: lane, slot: ProviderSlot(provider, clock: clock))
        }
        let first = Generation(
            number: 1, plan: plan, ruleset: life.gatehouse.ruleset, destinations: destinations,
            routes: plan.routes.indices.map { UInt16($0) })
        generations = GenerationRegistry(first, openLanes: OpenLanes(stop: try WakeUp(), inbox: nil, say: { _ in }))
        let outbox = Outbox()
        self.outbox = outbox
        store = HeldStore(
            HeldPlace(path: life.folder.path + "/" + HeldFile.name), registry: life.registry, generations: generations,
            totals: Monitor(Totals()), names: life.names, sources: plan.sources, clock: clock,
            handOver: { parcels, _, receipt in
                let boxes = parcels.indices.map { index in
                    var full = Parcel()
                    swap(&full, &parcels[index])
                    if !full.isEmpty { receipt.add() }
                    return ParcelBox(full)
                }
                outbox.release = Release(boxes: boxes, receipt: receipt)
            }, say: life.say)
        judge = HeldJudge(first, sources: plan.sources)
    }

    func adopt(_ plan: Plan, _ ruleset: Ruleset) {
        let next = Generation(
            number: generations.current.number + 1, plan: plan, ruleset: ruleset, destinations: destinations,
            routes: plan.routes.indices.map { UInt16($0) })
        _ = generations.adopt(next, retiring: [])
        store.adopt(plan)
        wake = 0
    }

    /// Takes the step that is due, and returns true. If none is due, notes the time of the next one and returns false.
    func step(at now: Instant, wall: Int64) -> Bool {
        switch store.heldIndex.withLock({ $0.next(at: now, wall: wall) }) {
        case .ready(.end): wake = nil
        case .ready(let step):
            store.carryOut(step, judge)
            release = outbox.release
            outbox.release = nil
            return true
        case .notBefore(let time): wake = time?.nanoseconds
        }
        return false
    }
}
