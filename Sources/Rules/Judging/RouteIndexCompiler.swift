// Compiles the filters of all routes into one index: groups the routes by their globs, and in each group by the member whose values tell
// most of them apart.

internal import Events
internal import Expressions
internal import Matching
internal import Plans

struct RouteIndexCompiler {
    /// Fewer routes than this are not worth a look at a member.
    private static let fewestOfMember = 4

    /// A member by which a route can be left out, with the values of which it must have one.
    private struct Choice {
        struct Key: Hashable {
            var slot: Int
            var isMatch: Bool
            var absence: RouteIndex.MemberGroup.Absence
        }
        var key: Key
        var values: [Scalar]
        var weight = 0
    }

    private let routes: [RoutePlan]
    private let rules: [RouteRules]
    private let expressions: ExpressionSet
    private let store: Store
    private let slot: (Path) -> Int
    private var members: [RouteIndex.MemberGroup] = []
    private var places: [RouteIndex.Place] = []
    private var weight = 0

    init(_ routes: [RoutePlan], _ rules: [RouteRules], expressions: ExpressionSet, slot: @escaping (Path) -> Int, store: Store) {
        self.routes = routes
        self.rules = rules
        self.expressions = expressions
        self.slot = slot
        self.store = store
    }

    /// Returns nil if it is faster to visit all routes.
    mutating func compile() -> UnsafePointer<RouteIndex>? {
        guard routes.count >= RouteIndex.fewestRoutes else { return nil }
        var always: [Int] = []
        var lists: [[Glob]] = []
        var named: [[Int]] = []
        var numbers: [[Glob]: Int] = [:]
        var unnamed: [Int] = []
        for (route, plan) in routes.enumerated() {
            if plan.takesRest {
                // Whether an earlier route took the event comes before its globs.
                always.append(route)
            } else if plan.events.isEmpty {
                unnamed.append(route)
            } else {
                let number = numbers[plan.events, default: lists.count]
                if number == lists.count {
                    numbers[plan.events] = number
                    lists.append(plan.events)
                    named.append([])
                }
                named[number].append(route)
            }
        }
        var groups: [RouteIndex.NameGroup] = []
        for (number, routes) in named.enumerated() { groups.append(group(routes, number: number, leavesOut: true, &always)) }
        groups.append(group(unnamed, number: groups.count, leavesOut: false, &always))
        guard places.count >= RouteIndex.fewestRoutes else { return nil }
        var bits = [UInt64](repeating: 0, count: (routes.count + UInt64.bitWidth - 1) / UInt64.bitWidth)
        for route in always { bits[route / UInt64.bitWidth] |= 1 << UInt64(route % UInt64.bitWidth) }
        return store.one(
            RouteIndex(
                words: bits.count, always: store.list(bits), globs: GlobIndex(lists, in: store), groups: store.list(groups),
                members: store.list(members), places: store.list(places), searches: rules.map(\.searches).max() ?? 0,
                numeric: store.list(numeric()), weight: weight))
    }

    /// Adds the member groups of the routes of a name group. `leavesOut` is true if the name alone leaves routes out. Otherwise those
    /// without a member are visited on every event.
    private mutating func group(_ routes: [Int], number: Int, leavesOut: Bool, _ always: inout [Int]) -> RouteIndex.NameGroup {
        let first = members.count
        let choices = routes.map(self.choices)
        let chosen = choose(among: choices)
        var owners: [Choice.Key: [(owner: Int, values: [Scalar])]] = [:]
        var keys: [Choice.Key] = []
        var visited: [Int] = []
        for (at, route) in routes.enumerated() {
            guard let choice = chosen[at].map({ choices[at][$0] }) else {
                visited.append(route)
                if leavesOut { places.append(RouteIndex.Place(route: route, group: number, member: -1)) }
                continue
            }
            if owners[choice.key] == nil { keys.append(choice.key) }
            owners[choice.key, default: []].append((route, choice.values))
            weight = max(weight, choice.weight)
        }
        for key in keys {
            let lists = owners[key]!
            for list in lists { places.append(RouteIndex.Place(route: list.owner, group: number, member: members.count)) }
            members.append(
                RouteIndex.MemberGroup(
                    values: ValueIndex(lists, slot: key.slot, in: store), isMatch: key.isMatch, absence: key.absence,
                    routes: store.list(lists.map(\.owner))))
        }
        if !leavesOut {
            always += visited
            visited = []
        }
        return RouteIndex.NameGroup(visited: store.list(visited), first: first, end: members.count)
    }

    /// Returns the members by which the route can be left out, once its name matches.
    private func choices(_ route: Int) -> [Choice] {
        let plan = routes[route]
        if !plan.match.isEmpty {
            // Every member of `match` is asked before all that comes later, and none can fail.
            return plan.match.map { Choice(key: .init(slot: slot($0.path), isMatch: true, absence: .excludes), values: $0.anyOf) }
        }
        // What `not` excludes is counted before the expression is asked.
        guard plan.not.isEmpty, rules[route].condition >= 0 else { return [] }
        return expressions.guards(of: rules[route].condition).map {
            Choice(
                key: .init(slot: $0.slot, isMatch: false, absence: $0.isWhole ? .fails : .undecided), values: $0.values.map(\.scalar),
                weight: $0.weight)
        }
    }

    /// Returns the choice of each route. It is nil for a route without one that pays. A member tells more the more routes ask for it, and the
    /// fewer of them ask for the same value.
    private func choose(among choices: [[Choice]]) -> [Int?] {
        var refused: Set<Choice.Key> = []
        while true {
            var users: [Choice.Key: Int] = [:]
            var sharers: [Choice.Key: [[UInt8]: Int]] = [:]
            for choice in choices.joined() where !refused.contains(choice.key) {
                users[choice.key, default: 0] += 1
                for value in choice.values { sharers[choice.key, default: [:]][ValueIndex.text(value), default: 0] += 1 }
            }
            let chosen = choices.map { own in
                own.indices.filter { !refused.contains(own[$0].key) }.min { a, b in
                    func cost(_ at: Int) -> Double {
                        let key = own[at].key
                        let most = own[at].values.map { sharers[key]![ValueIndex.text($0)]! }.max() ?? 0
                        return Double(1 + most) / Double(users[key]!)
                    }
                    return cost(a) < cost(b)
                }
            }
            var takers: [Choice.Key: Int] = [:]
            for (route, at) in chosen.enumerated() { if let at { takers[choices[route][at].key, default: 0] += 1 } }
            let small = takers.filter { $0.value < RouteIndexCompiler.fewestOfMember }.map(\.key)
            if small.isEmpty { return chosen }
            refused.formUnion(small)
        }
    }

    /// Returns the matches that read numbers as a whole, each slot and number of numbers once.
    private func numeric() -> [MatchRule] {
        var known: Set<[Int]> = []
        return zip(routes, rules).flatMap { plan, rules in
            zip(plan.match + plan.not.match, Array(rules.match) + Array(rules.not.match)).compactMap { plan, rule in
                let numbers = plan.anyOf.count { if case .number = $0 { true } else { false } }
                return numbers > 0 && known.insert([slot(plan.path), numbers]).inserted ? rule : nil
            }
        }
    }
}

extension ConditionGuard.Value {
    /// The value as `match` would list it.
    fileprivate var scalar: Scalar {
        switch self {
        case .text(let text): .string(String(decoding: text, as: UTF8.self))
        case .integer(let value): .number("\(value)")
        case .word(let word): word == Array("null".utf8) ? .null : .bool(word == Array("true".utf8))
        }
    }
}
