// Rules about the filters and samples of routes: routes that can never take an event, routes that overlap, and patterns without effect.

internal import Document
internal import Plans

extension Linter {
    mutating func checkRoutes() {
        for index in plan.routes.indices {
            checkMatch(index)
            checkShadow(index)
            checkSample(index)
            checkPatterns(index)
        }
        checkOverlaps()
    }

    private mutating func checkMatch(_ index: Int) {
        guard let why = filters[index].contradiction else { return }
        let node = route(index)
        report(.neverMatches, node["where"] ?? node["not"] ?? node, why, fix: "correct the filter, or remove the route")
    }

    private mutating func checkShadow(_ index: Int) {
        guard plan.routes[index].takesRest, filters[index].contradiction == nil else { return }
        guard let other = filters[..<index].firstIndex(where: { $0.covers(filters[index]) }), let place = route(index)["else"] else {
            return
        }
        report(
            .shadowed, place, "route \(plan.routes[other].name) takes every event that this route could take",
            fix: "widen this route, narrow the other one, or remove \"else\"")
    }

    private mutating func checkOverlaps() {
        for later in plan.routes.indices {
            // A route with "else" takes nothing that an earlier route took.
            if plan.routes[later].takesRest { continue }
            for provider in plan.routes[later].providers {
                for earlier in plan.routes.indices.prefix(later) where plan.routes[earlier].providers.contains(provider) {
                    guard let event = doubled(earlier, later) else { continue }
                    let name = plan.providers[provider].name
                    let to = route(later)["to"]
                    let place = to?.items?.first { $0.text?.value == name } ?? to ?? route(later)
                    report(
                        .overlap, place,
                        "\(name) gets the same event from routes \(plan.routes[earlier].name) and \(plan.routes[later].name): \(event)",
                        fix: "exclude it from one of them by \"not\", or give the later route \"else\": true")
                    break
                }
            }
        }
    }

    /// Returns the events that both routes surely take, in words. Returns nil if there may be none.
    private func doubled(_ earlier: Int, _ later: Int) -> String? {
        let (first, second) = (filters[earlier], filters[later])
        // What an even earlier route takes is nothing for a route with "else".
        if plan.routes[earlier].takesRest, filters[..<earlier].contains(where: { !$0.isDisjoint(from: second) }) { return nil }
        if let event = first.common(second) { return event }
        guard first.contradiction == nil, second.contradiction == nil else { return nil }
        if first.covers(second) { return "each event that route \(plan.routes[later].name) takes" }
        return second.covers(first) ? "each event that route \(plan.routes[earlier].name) takes" : nil
    }

    private mutating func checkSample(_ index: Int) {
        guard let sample = plan.routes[index].sample, let node = route(index)["sample"] else { return }
        if sample.target == nil, sample.rate <= 0, sample.rates.allSatisfy({ $0.rate <= 0 }), sample.keep.isEmpty,
            sample.keepCondition == nil
        {
            report(.emptySample, node["rate"] ?? node, "the rate is 0, and nothing is kept", fix: "raise the rate, or remove the route")
        }
        let rates = sample.rates.map { Pattern($0.glob) }
        for (place, rate) in rates.enumerated() {
            guard let entry = node["rates"]?.entries?[place] else { continue }
            if let first = rates[..<place].firstIndex(where: { $0.covers(rate) }) {
                report(
                    .deadPattern, entry.node, at: entry.key.range.lowerBound,
                    "'\(sample.rates[first].glob)' stands before it and matches the same names; the first match decides",
                    fix: "put the narrower glob first")
            } else if isForeign(rate, to: index) {
                report(
                    .deadPattern, entry.node, at: entry.key.range.lowerBound, "no event of the route has such a name",
                    fix: "remove the rate, or add the name to \"events\"")
            }
        }
        let keep = node["keep"]
        for (place, glob) in sample.keep.enumerated() where isForeign(Pattern(glob), to: index) {
            guard let at = keep?["events"]?.items?[place] ?? keep?.items?[place] ?? keep else { continue }
            report(.deadPattern, at, "no event of the route has such a name", fix: "remove it, or add the name to \"events\"")
        }
    }

    /// Returns true if no event of the route can have a name that the glob matches.
    private func isForeign(_ glob: Pattern, to index: Int) -> Bool {
        let events = filters[index].events
        return !events.isEmpty && !events.contains { $0.common(glob) != nil }
    }

    private mutating func checkPatterns(_ index: Int) {
        let (filter, node) = (filters[index], route(index))
        for (place, glob) in filter.events.enumerated() {
            guard let at = node["events"]?.items?[place] else { continue }
            for (other, wider) in filter.events.enumerated() where other != place && wider.covers(glob) {
                // Of two equal globs the second one is superfluous.
                if glob.covers(wider), other > place { continue }
                report(.deadPattern, at, "'\(filter.names[other])' already matches all of its names", fix: "remove it")
                break
            }
        }
        for (place, glob) in filter.not.events.enumerated() where isForeign(Pattern(glob), to: index) {
            guard let at = node["not"]?["events"]?.items?[place] ?? node["not"]?["events"] else { continue }
            report(.deadPattern, at, "'events' of the route matches no such name, so nothing is excluded", fix: "remove it, or correct it")
        }
    }
}
