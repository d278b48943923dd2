// Checks the two optional entries of a module that deliver nothing: the preview and the probe.

import Plans
import Platform
import PluginHost

extension Suite {
    func inquiries(_ module: Module, in folders: ModuleFolders, _ cases: Cases) {
        var canProbe = false
        for one in cases.all where one.expects != "refused" {
            guard let instance = try? make(module, in: folders, one.settings) else { continue }
            defer { instance.close() }
            canProbe = canProbe || instance.canProbe
            guard instance.canPreview else { continue }
            check("\(one.name): a preview sends nothing, and is the same when it is asked for again") {
                try preview(instance, one)
            }
        }
        guard canProbe, let good = cases.good else { return }
        check("a probe answers once, in time, and delivers nothing") { try probe(module, in: folders, good) }
    }

    private func preview(_ instance: ModuleInstance, _ one: Case) throws {
        let before = Dependencies(folder)
        let destination = one.arrives.map(Destination.init)
        _ = destination?.arrived()
        let batch = OwnBatch(one.events, arrival: Clock.system.wall())
        let bytes = Array(batch.bytes)
        guard let first = instance.preview(batch), let second = instance.preview(batch) else { throw Broken("there is no preview") }
        guard batch.bytes.elementsEqual(bytes) else { throw Broken("it changed the events that it was lent") }
        if first != second { throw Broken("two previews of the same events differ") }
        if let news = before.news(folder) { throw Broken(news) }
        if let count = destination?.arrived(), count > 0 { throw Broken("\(count) events have arrived") }
        if instance.strayCompletions > 0 { throw Broken("it completed a delivery") }
        let sent = Set(first.requests.flatMap(\.events))
        for index in one.events.indices where sent.contains(index) == (first.refused[index] != nil) {
            throw Broken("the event \(index) is \(sent.contains(index) ? "both sent and refused" : "neither sent nor refused")")
        }
        if let index = first.losses.keys.first(where: { !sent.contains($0) }) {
            throw Broken("the event \(index) has a loss and is not sent")
        }
        guard let empty = instance.preview(OwnBatch([], arrival: 0)) else { throw Broken("there is no preview without events") }
        if empty != WirePreview() { throw Broken("something would be sent without events") }
    }

    private func probe(_ module: Module, in folders: ModuleFolders, _ good: Case) throws {
        let instance = try make(module, in: folders, good.settings)
        defer { instance.close() }
        let destination = good.arrives.map(Destination.init)
        _ = destination?.arrived()
        guard let finding = instance.probe(within: .seconds(patience)) else { throw Broken("there is no probe") }
        if finding.message.hasPrefix("the module ") { throw Broken(finding.message) }
        if finding.message.isEmpty { throw Broken("it says nothing") }
        if let count = destination?.arrived(), count > 0 { throw Broken("\(count) events have arrived") }
        if instance.strayCompletions > 0 { throw Broken("it completed a delivery") }
    }
}
