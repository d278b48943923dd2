// The words of `check` for the sources: where events come from, who may send them, and what a client may send.

internal import Document
internal import Plans
internal import Platform

extension PlanWords {
    /// `modules` are the files of the modules of sources, by the index of the source.
    func sources(_ modules: [Int: String]) -> PlanSheet.Section? {
        let items = plan.sources.enumerated().map { index, source in
            PlanSheet.Item(
                name: shown(source.name),
                summary: origin(of: source, modules[index]) + (source.consent == .write ? "; its events may write the ledger" : ""),
                lines: source.http.map(lines) ?? source.file.map(lines) ?? source.module.map(lines) ?? [])
        }
        return PlanSheet.Section(key: "sources", title: "Sources", items: items)
    }

    /// Where the events come from.
    private func origin(of source: SourcePlan, _ module: String?) -> String {
        if source.module != nil { return "\(shown(source.plugin))" + (module.map { " from \(shown($0))" } ?? "") }
        if let file = source.file {
            return "\(source.plugin) \(list(file.paths))" + (file.drains ? ", each removed when all of it was taken in" : "")
        }
        guard let http = source.http else { return "standard input" }
        var parts = ["\(source.plugin) at \(shown(http.listen.description))"]
        if http.tls != nil { parts.append("TLS") }
        if http.tls?.clients != nil { parts.append("client certificates") }
        let keys = http.keys.map(summary).joined(separator: ", ")
        parts.append(http.keys.isEmpty ? "no keys: anyone who can connect may send" : "keys \(keys)")
        return parts.joined(separator: ", ")
    }

    private func summary(of key: AccessKey) -> String {
        let bounds = [
            key.dialects.map { "in \(list($0))" }, key.routes.map { "to \(list($0))" }, key.consent.map { _ in "may write the ledger" },
            key.secrets.count > 1 ? "\(key.secrets.count) secrets" : nil,
        ].compactMap { $0 }
        return shown(key.name) + (bounds.isEmpty ? "" : " (\(bounds.joined(separator: "; ")))")
    }

    private func lines(of module: ModuleSourcePlan) -> [PlanSheet.Line] {
        module.shownSettings.map { PlanSheet.Line($0.name, "\($0.name): \(shown($0.text))") } + [
            PlanSheet.Line("in_flight", "it pauses while \(size(module.inFlight)) of its events have not come to their end")
        ]
    }

    private func lines(of file: FileSourcePlan) -> [PlanSheet.Line] {
        [
            PlanSheet.Line(
                "idle",
                "a file counts as finished after \(file.idle.configured) without a write; searched again every \(file.poll.configured)")
        ]
    }

    private func lines(of http: HTTPSourcePlan) -> [PlanSheet.Line] {
        var lines: [PlanSheet.Line] = []
        if let tls = http.tls {
            let clients = tls.clients.map { ", clients signed by \(shown($0))" } ?? ""
            lines.append(PlanSheet.Line("tls", "certificate \(shown(tls.certificate)), its key \(shown(tls.key))\(clients)"))
        }
        if case .unix = http.listen {
            let digits = String(http.mode, radix: 8)
            let mode = String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
            let owner = http.owner.map(shown) ?? "the router's user"
            lines.append(PlanSheet.Line("mode", "the socket has mode \(mode) and belongs to \(owner)"))
        }
        if http.isOpen { lines.append(PlanSheet.Line("open", "open: anyone on the network may send without a key")) }
        if !http.origins.isEmpty { lines.append(PlanSheet.Line("origins", "web pages of \(list(http.origins)) may send")) }
        if let dialects = http.dialects { lines.append(PlanSheet.Line("dialects", "accepts only \(list(dialects))")) }
        if http.addsIP { lines.append(PlanSheet.Line("ip", "events get the client's address as context.ip")) }
        if http.addsReceivedAt { lines.append(PlanSheet.Line("received_at", "native events get receivedAt")) }
        return lines + self.lines(of: http.limits)
    }

    private func lines(of limits: HTTPLimits) -> [PlanSheet.Line] {
        let byAddress = limits.connectionsByAddress
        let address = byAddress == 0 ? "no limit for one address" : "\(grouped(byAddress)) of one address"
        return [
            PlanSheet.Line(
                "limits",
                "a request has at most \(size(limits.body)), decoded \(size(limits.decoded)), \(grouped(limits.ratio)) times longer than before "
                    + "and \(limits.codings) times coded, and \(grouped(limits.events)) events"),
            PlanSheet.Line(
                "limits",
                "its head has at most \(size(limits.head)), \(grouped(limits.headers)) headers and a URL of \(size(limits.url))"),
            PlanSheet.Line(
                "limits", "at most \(grouped(limits.connections)) connections, \(address), and \(size(limits.memory)) of bodies at once"),
            PlanSheet.Line(
                "limits",
                "within \(limits.headTime.configured) a first head, \(limits.idle.configured) the next, \(limits.request.configured) a body, "
                    + "with pauses of \(limits.pause.configured) at most and \(size(limits.rate)) a second at least; answered within "
                    + "\(limits.answerWithin.configured), and the answer read within \(limits.reply.configured)"),
        ]
    }
}
