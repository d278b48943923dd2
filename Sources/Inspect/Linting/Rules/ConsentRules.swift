// Rules about consent: purposes and levels that nothing demands, and routes that demand less than others to the same provider.

internal import Document
internal import Plans

extension Linter {
    mutating func checkConsent() {
        guard let section = plan.consent, let node = root["consent"] else { return }
        checkLevels(section, node)
        let demanding = plan.routes.indices.filter { isDemanding($0) }
        if demanding.isEmpty, section.fields.isEmpty, section.events.isEmpty {
            report(
                .nothingDemanded, node, "every route sends without consent",
                fix: "give routes \"consent\", or the section a \"default\", or remove the section")
        }
        for index in plan.routes.indices where !isDemanding(index) {
            for provider in plan.routes[index].providers {
                guard let other = demanding.first(where: { plan.routes[$0].providers.contains(provider) }) else { continue }
                report(
                    .unevenDemand, route(index)["consent"] ?? route(index),
                    "\(plan.providers[provider].name) gets events of this route without consent, and those of route \(plan.routes[other].name) with it",
                    fix: "demand the same consent, or use another provider")
                break
            }
        }
    }

    private func isDemanding(_ index: Int) -> Bool { plan.routes[index].consent.map { $0.level > 0 || !$0.purposes.isEmpty } ?? false }

    private mutating func checkLevels(_ section: ConsentPlan, _ node: Node) {
        let demands = plan.routes.compactMap(\.consent)
        var levels = Set(demands.map(\.level) + section.fields.map(\.level) + section.events.map(\.level))
        levels.insert(0)
        // A level needs all purposes of the levels below it.
        var asked = Set(demands.flatMap(\.purposes))
        for level in levels { asked.formUnion(section.levels[level].purposes ?? []) }
        var known: Set<String> = []
        for (index, level) in section.levels.enumerated() {
            guard let place = node["levels"]?.entries?[index].node ?? node["levels"]?.items?[index] else { continue }
            let new = (level.purposes ?? []).filter { known.insert($0).inserted }
            for purpose in new where !asked.contains(purpose) {
                let at = place.items?.first { $0.text?.value == purpose } ?? place
                report(
                    .unaskedPurpose, at, "no route demands the purpose \(purpose), neither by name nor by a level",
                    fix: "demand it on the routes that need it, or remove it")
            }
            if new.isEmpty, !levels.contains(index) {
                report(
                    .unusedLevel, place, "no route, field or event demands the level \(level.name), and it adds no purpose",
                    fix: "demand it, or remove it")
            }
        }
    }
}
