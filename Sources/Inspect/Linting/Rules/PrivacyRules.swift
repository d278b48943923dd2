// Rules about members that leave: hashed by one route and as they came by another, hashed in two ways, and steps that come too late.

internal import Document
internal import Editing
internal import Events
internal import Plans

extension Linter {
    mutating func checkPrivacy() {
        for index in plan.routes.indices { checkSteps(index) }
        for provider in plan.providers.indices {
            let routes = plan.routes.indices.filter { plan.routes[$0].providers.contains(provider) }
            if routes.count > 1 { checkFates(provider, routes) }
        }
    }

    private mutating func checkFates(_ provider: Int, _ routes: [Int]) {
        let name = plan.providers[provider].name
        let own = plan.providers[provider].shape.transforms
        /// The members that a route hashes, removes or changes, with the first route that does.
        var members: [(path: Path, route: Int, isHashed: Bool)] = []
        for route in routes {
            for step in plan.routes[route].transforms {
                for path in step.hashing?.paths ?? [] where !members.contains(where: { $0.path == path && $0.isHashed }) {
                    members.append((path, route, true))
                }
                for effect in step.effects({ $0 }) where step.hashing == nil && (effect.kind == .removed || effect.kind == .changed) {
                    for path in effect.paths where !members.contains(where: { $0.path == path }) { members.append((path, route, false)) }
                }
            }
        }
        for (path, first, isHashed) in members {
            let mine = MemberFate(path, plan.routes[first].transforms + own)
            for other in routes where other != first {
                let fate = MemberFate(path, plan.routes[other].transforms + own)
                let place = route(other)["transform"] ?? route(other)
                let names = (plan.routes[first].name, plan.routes[other].name)
                if isHashed, mine.hash != nil, fate.isRaw {
                    report(
                        .hashedAndRaw, place, "\(name) gets \(path) hashed by route \(names.0), and as it came by route \(names.1)",
                        fix: "hash it here too, or drop it")
                } else if isHashed, let one = mine.hash, let two = fate.hash, one != two {
                    report(
                        .hashedDifferently, place,
                        "\(name) gets \(path) hashed in another way by route \(names.0) than by route \(names.1)",
                        fix: "use the same key, name and length")
                } else if !isHashed, !mine.isRaw, fate.isRaw {
                    report(
                        .protectedAndRaw, place,
                        "\(name) gets \(path) as it came by route \(names.1), and route \(names.0) removes or changes it",
                        fix: "do the same here, unless it is meant so")
                }
            }
        }
    }

    /// A step that names a member which an earlier one removes does nothing.
    private mutating func checkSteps(_ index: Int) {
        let steps = plan.routes[index].transforms
        guard let node = route(index)["transform"], let items = node.items, items.count == steps.count else { return }
        for (place, step) in steps.enumerated() where place > 0 {
            let effects = step.effects { $0 }
            // What a step writes is there again, and what it removes twice is gone in any case.
            let named = effects.filter { $0.kind == .changed || $0.kind == .removed }.flatMap(\.paths) + step.moves.map(\.from)
            for path in named {
                let isThere = steps[..<place].contains { writes(path, $0) }
                if isThere || !MemberFate(path, Array(steps[..<place])).isGone { continue }
                report(.deadStep, items[place], "an earlier step removes \(path)", fix: "put this step first, or remove it")
                break
            }
        }
    }

    private func writes(_ path: Path, _ step: any Step) -> Bool {
        step.effects { $0 }.contains { effect in
            switch effect.kind {
            case .written: effect.paths.contains { $0.holds(path) || path.holds($0) }
            case .moved(let place): place.holds(path) || path.holds(place)
            default: false
            }
        }
    }
}
