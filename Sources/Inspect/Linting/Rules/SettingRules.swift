// Rules about keys and settings that nothing uses.

internal import Document
internal import Plans

extension Linter {
    mutating func checkSettings() {
        checkKeys()
        if let section = plan.consent, let hold = root["consent"]?["hold"], !section.isHolding {
            report(
                .deadSetting, hold, "no event is held, since 'unknown' is not \"hold\"", fix: "remove it, or set 'unknown' to \"hold\"")
        }
        let hasDisk = plan.providers.contains { $0.delivery.queue.disk != nil }
        if let node = root["limits"]?["disk"], !hasDisk, plan.consent?.isHolding != true {
            report(
                .deadSetting, node, "nothing waits on disk, since no provider has 'queue.disk'",
                fix: "give a provider a queue on disk, or remove it")
        }
        for index in plan.providers.indices where plan.providers[index].delivery.queue.disk == nil {
            guard let node = provider(index)["delivery"]?["queue"]?["durability"] else { continue }
            report(.deadSetting, node, "the queue of \(plan.providers[index].name) is only in memory", fix: "add 'disk', or remove it")
        }
        for index in plan.routes.indices {
            guard let sample = plan.routes[index].sample, let node = route(index)["sample"] else { continue }
            let isWhole = sample.target == nil && sample.rate >= 1 && sample.rates.allSatisfy { $0.rate >= 1 }
            for name in ["keep", "by", "salt"] where isWhole {
                guard let place = node[name], name == "keep" || sample.limit == nil else { continue }
                // Kept events are not limited.
                if name == "keep", sample.limit != nil { continue }
                report(.deadSetting, place, "the sample takes every event", fix: "lower the rate, or remove it")
            }
        }
    }

    /// A key is used if its name is the value of any string outside of `keys`.
    private mutating func checkKeys() {
        guard let keys = root["keys"]?.entries, !keys.isEmpty else { return }
        var used: Set<String> = []
        for entry in root.entries ?? [] where entry.key.name != "keys" { collect(entry.node, &used) }
        for entry in keys where !used.contains(entry.key.name) {
            report(
                .unusedKey, entry.node, at: entry.key.range.lowerBound, "nothing names the key \(entry.key.name)",
                fix: "remove it, or use it")
        }
    }

    private func collect(_ node: Node, _ texts: inout Set<String>) {
        switch node.value {
        case .text(let text): texts.insert(text.value)
        case .list(let items): for item in items { collect(item, &texts) }
        case .object(let entries): for entry in entries { collect(entry.node, &texts) }
        default: break
        }
    }
}
