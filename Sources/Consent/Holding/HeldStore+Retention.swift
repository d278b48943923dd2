// Destroys held events that a route may no longer have by its `retention`, or that none of its providers may have by theirs. An event that
// waits for several routes loses those whose limit has passed, and is destroyed with the last of them.

internal import Admission
internal import Generations
internal import HeldEventStore
internal import Judging
internal import Plans
internal import Platform

extension HeldStore {
    /// Returns the maximum age of held events by the number of their route. Other routes have no limit.
    static func limits(_ generation: Generation) -> [UInt16: Int64] {
        var limits: [UInt16: Int64] = [:]
        for (number, route) in zip(generation.routes, generation.plan.routes) {
            limits[number] = limit(of: route, in: generation.plan)
        }
        return limits
    }

    /// Returns the shortest maximum age of a route of the plan. It is nil if no route has one.
    static func shortestLimit(_ plan: Plan) -> Int64? { plan.routes.compactMap { limit(of: $0, in: plan) }.min() }

    /// The event may wait as long as the route allows, and as long as at least one of its providers may have it.
    private static func limit(of route: RoutePlan, in plan: Plan) -> Int64? {
        let ofProviders = route.providers.map { plan.providers[$0].delivery.retention?.nanoseconds ?? .max }.max() ?? .max
        let limit = min(route.retention?.nanoseconds ?? .max, ofProviders)
        return limit == .max ? nil : limit
    }

    /// Destroys what is too old at this time, in nanoseconds since 1970.
    func destroyAged(at wall: Int64, _ heldJudge: HeldJudge) throws(StorageFault) {
        let generation = generations.enter()
        defer { generations.leave(generation) }
        let limits = HeldStore.limits(generation)
        guard let shortest = limits.values.min() else { return heldIndex.withLock { $0.aged([], narrowed: false, at: clock.now()) } }
        var after: Int64 = 0
        var isAny = false
        while true {
            var told = HeldVerdicts(generation, names: names)
            let (rows, gone, cut) = try use { (file) throws(StorageFault) in
                let rows = try file.rows(before: wall - shortest + 1, after: after, most: HeldStore.page)
                let free = heldIndex.withLock { heldIndex in rows.filter { !heldIndex.isOnItsWay($0.id) } }
                var gone: [HeldRow] = []
                var cut: [(row: HeldRow, old: [UInt16])] = []
                for row in free {
                    let old = row.routes.filter { limits[$0].map { wall - row.arrival >= $0 } ?? false }
                    if old.count == row.routes.count { gone.append(row) } else if !old.isEmpty { cut.append((row, old)) }
                }
                for row in gone { told.add(try hash(of: row, in: file, generation, heldJudge), row.routes, .expired) }
                for one in cut { told.add(try hash(of: one.row, in: file, generation, heldJudge), one.old, .expired) }
                try file.change(
                    remove: gone.map(\.id), narrow: cut.map { one in (one.row.id, one.row.routes.filter { !one.old.contains($0) }) })
                try noteOldest(of: file)
                return (rows, gone, cut)
            }
            isAny = isAny || !gone.isEmpty
            heldIndex.withLock { $0.aged(gone, narrowed: !cut.isEmpty, at: clock.now()) }
            totals.withLock { totals in
                for row in gone { totals.settle(held: row.routes, as: .expired) }
                for one in cut { totals.settle(held: one.old, as: .expired) }
            }
            tell(told)
            guard rows.count == HeldStore.page, let last = rows.last else { break }
            after = last.id
        }
        guard isAny else { return }
        try use { (file) throws(StorageFault) in
            try file.tidy()
            try file.clearGaps()
        }
    }
}
