// The words of `check` for the providers: the module with its settings, how its lane delivers, and what is done at the hand-over.

internal import Plans
internal import Platform

extension PlanWords {
    /// `modules` are the files of the modules, in the order of the providers.
    func providers(_ modules: [String]) -> PlanSheet.Section? {
        let items = zip(plan.providers, modules).map { provider, path in
            PlanSheet.Item(
                name: provider.name, summary: "\(shown(provider.plugin)) from \(shown(path))",
                lines: provider.shownSettings.map { Line($0.name, "\($0.name): \(shown($0.text))") } + lines(of: provider),
                stages: stages(of: provider.shape.route(named: provider.name)).map { stage in
                    Line(stage.key, label: "at the hand-over, \(stage.label)", stage.text)
                })
        }
        return PlanSheet.Section(key: "providers", title: "Providers", items: items)
    }

    private func lines(of provider: ProviderPlan) -> [Line] {
        var lines: [Line] = []
        if let isolation = provider.isolation {
            let variables = isolation.environment.map { "\(shown($0.name))=\(shown($0.value))" }
            lines.append(
                Line(
                    "isolate",
                    "in a process of its own, of at most \(size(isolation.memory))"
                        + (variables.isEmpty ? "" : ", with \(variables.joined(separator: ", "))")))
        }
        let delivery = provider.delivery
        lines.append(Line("delivery", batches(delivery) + "; " + queue(delivery.queue)))
        lines.append(Line("delivery", failures(delivery)))
        if let retention = delivery.retention { lines.append(Line("delivery", "kept for \(retention.configured) at most")) }
        return lines
    }

    private func batches(_ delivery: DeliveryPlan) -> String {
        let batch = delivery.batch
        let (events, bytes) = (grouped(batch.events), size(batch.bytes))
        return
            (batch.wait.map { "batches of \(events) events, \(bytes) or \($0.configured)" }
            ?? "batches of at most \(events) events or \(bytes), as soon as none is under way")
            + (delivery.ordered ? ", one after the other" : "")
            + (delivery.immediate.isEmpty ? "" : ", at once for \(either(delivery.immediate))")
    }

    private func queue(_ queue: DeliveryPlan.Queue) -> String {
        "queue of \(size(queue.memory)), when full \(shown(queue.full.rawValue))"
            + (queue.disk.map { ", on disk up to \(size($0)), which survive \(queue.durability.summary)" } ?? "")
    }

    private func failures(_ delivery: DeliveryPlan) -> String {
        let retry = delivery.retry
        let calls = delivery.deadline == .zero ? "no limit for a call" : "a call takes \(delivery.deadline.configured) at most"
        let stop = delivery.deadline == .zero ? "" : ", and \(grouped(delivery.abandon)) that do not return stop it"
        let letters =
            delivery.deadLetters == .block ? "it waits while dead letters cannot be kept" : "what cannot be kept as a dead letter is lost"
        return "retried for \(retry.total.configured), with pauses of \(retry.first.configured) to \(retry.most.configured); "
            + "probed after \(grouped(delivery.breaker)) failures; \(calls)\(stop); \(letters)"
    }
}

extension DeliveryPlan.Queue.Durability {
    fileprivate var summary: String {
        switch self {
        case .process: "the end of the process"
        case .power: "a loss of power"
        }
    }
}
