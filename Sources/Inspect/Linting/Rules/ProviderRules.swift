// Rules about providers: those that get nothing, queues that do not survive the process, and what their modules declare that they refuse.

internal import Document
internal import Editing
internal import Plans

extension Linter {
    mutating func checkProviders() {
        for index in plan.providers.indices {
            let routes = plan.routes.indices.filter { plan.routes[$0].providers.contains(index) }
            let node = provider(index)
            if routes.isEmpty {
                report(
                    .unusedProvider, node, "no route sends to \(plan.providers[index].name)",
                    fix: "name it in \"to\" of a route, or remove it")
                continue
            }
            checkFilter(index, routes)
            checkQueue(index)
            checkLimits(index, routes)
        }
    }

    private mutating func checkFilter(_ index: Int, _ routes: [Int]) {
        guard plan.providers[index].shape.isFiltering, let node = provider(index)["filter"] else { return }
        let filter = EventFilter(plan.providers[index].shape)
        if let why = filter.contradiction {
            report(.filterTakesNothing, node, why, fix: "correct the filter")
        } else if routes.allSatisfy({ isUnchanged($0) && filter.isDisjoint(from: filters[$0]) }) {
            report(
                .filterTakesNothing, node, "none of its routes sends an event that the filter takes",
                fix: "correct the filter or the routes")
        }
    }

    /// Returns true if the route changes no member that a filter of a provider could ask for. Then an event comes as the route took it.
    private func isUnchanged(_ route: Int) -> Bool {
        plan.routes[route].transforms.allSatisfy { step in
            step.effects { $0 }.allSatisfy { effect in effect.kind == .removed || effect.kind == .changed } && step.moves.isEmpty
        }
    }

    private mutating func checkQueue(_ index: Int) {
        guard plan.providers[index].delivery.queue.disk == nil, plan.providers[index].plugin != "noop" else { return }
        let (node, name) = (provider(index), plan.providers[index].name)
        let fix = "give it \"delivery\": {\"queue\": {\"disk\": \"1GB\"}}"
        if let remover = plan.sources.first(where: { $0.file?.drains ?? false }) {
            report(
                .removedUnsafely, node,
                "source \(remover.name) removes a file when its events are taken in, and what waits for \(name) ends with the process",
                fix: fix)
        } else if let answering = plan.sources.first(where: { $0.http != nil }) {
            report(
                .notDurable, node,
                "source \(answering.name) answers 200 when its events are in memory, and what waits for \(name) ends with the process",
                fix: fix)
        }
    }

    private mutating func checkLimits(_ index: Int, _ routes: [Int]) {
        guard let module = modules[plan.providers[index].plugin] else { return }
        for limit in module.refuses where limit.topic == "name_length" || limit.topic == "reserved_name" {
            for route in routes {
                for (place, glob) in plan.routes[route].events.enumerated() where !glob.pattern.utf8.contains(UInt8(ascii: "*")) {
                    let isOver = limit.topic == "name_length" && glob.pattern.unicodeScalars.count > limit.most ?? .max
                    let isReserved = limit.topic == "reserved_name" && Linter.words(of: limit.what).contains(glob.pattern)
                    guard isOver || isReserved, let node = self.route(route)["events"] else { continue }
                    report(
                        .overLimit, node.items?[place] ?? node, "\(module.name) refuses \(limit.what)",
                        fix: "rename the event for \(plan.providers[index].name), or leave it out there")
                }
            }
        }
    }

    /// Returns the words of a description in which a name may stand, such as `session_start`.
    private static func words(of text: String) -> Set<String> {
        Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init).filter { $0.contains("_") })
    }
}
