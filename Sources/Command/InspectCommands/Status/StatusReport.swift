// Reports the state of a router, as text for a person and as JSON. The running router makes the report. If no router runs, the report
// covers what is in the state folder.

internal import Erasing
internal import Generations
internal import Glibc
internal import HeldEventStore
internal import Holding
internal import Listener
internal import Platform
internal import Queueing
public import Router
public import Spool
internal import Startup
internal import StateFiles
public import Terminal
internal import Workers

public struct StatusReport {
    /// The status of the router. It is nil if no router runs.
    var router: RouterStatus?
    /// The HTTP sources of the router.
    var sources: [SourceStatus] = []
    /// The sources of modules.
    var modules: [ModuleSourceStatus] = []
    var pid: Int32?
    var configuration: String?
    /// When the router was started, in nanoseconds since 1970.
    var started: Int64?
    var state: String
    /// The spools with events for which the router has no provider with a queue on disk. If no router runs, these are all spools.
    public var spools: [SpoolSummary]
    /// The events that wait for consent. It is nil if none can wait.
    var held: HeldStatus?
    /// When the report was made, in nanoseconds since 1970.
    var at: Int64

    /// Reports on a folder that no router has.
    public init(folder: String, at: Int64) {
        state = folder
        spools = StateFolder.spools(in: folder).map { SpoolSummary(of: $0, in: folder) }
        held = HeldSummary(in: folder).map(HeldStatus.init)
        self.at = at
    }

    public init(
        _ router: Router, _ sources: [SourceStatus], modules: [ModuleSourceStatus] = [], folder: String, configuration: String,
        started: Int64
    ) {
        let status = router.status
        self.router = status
        held = status.held
        self.sources = sources
        self.modules = modules
        at = status.at
        pid = getpid()
        state = folder
        self.configuration = configuration
        self.started = started
        spools = Leftovers(router.plan, in: folder, except: router.durableProviders).spools
    }

    // MARK: - For machines

    public var json: String {
        var parts = ["\"running\":\(router != nil)", "\"version\":\(jsonQuoted(version))", "\"state\":\(jsonQuoted(state))"]
        if let router, let pid, let configuration, let started {
            parts += ["\"pid\":\(pid)", "\"configuration\":\(jsonQuoted(configuration))"]
            parts += ["\"started\":\(jsonQuoted(timestamp(started)))", "\"uptime_s\":\(seconds(at - started))"]
            parts += ["\"generation\":\(router.generation)", "\"events\":\(router.events)"]
        }
        parts.append("\"sources\":[\(sources.map(json).joined(separator: ","))]")
        parts.append("\"module_sources\":[\(modules.map(\.json).joined(separator: ","))]")
        parts.append("\"inputs\":[\((router?.sources ?? []).map(json).joined(separator: ","))]")
        parts.append("\"routes\":[\((router?.routes ?? []).map(json).joined(separator: ","))]")
        parts.append("\"lanes\":[\((router?.lanes ?? []).map(json).joined(separator: ","))]")
        parts.append("\"held\":\(held.map(json) ?? "null")")
        parts.append("\"erasures\":\(router?.erasures.map(json) ?? "null")")
        parts.append("\"spools\":\(spoolsJSON)")
        return "{\(parts.joined(separator: ","))}\n"
    }

    public var spoolsJSON: String { StatusReport.json(spools, at: at) }

    public static func json(_ spools: [SpoolSummary], at: Int64) -> String { "[\(spools.map { json($0, at) }.joined(separator: ","))]" }

    private func json(_ source: RouterStatus.Source) -> String {
        let consent = source.counts.consent.named.map { "\"\($0.name)\":\($0.count)" }
        return "{\"name\":\(jsonQuoted(source.name)),\"events\":\(source.counts.events),\"rejected\":\(source.counts.rejected),"
            + "\"consent\":{\(consent.joined(separator: ","))}}"
    }

    private func json(_ lane: RouterStatus.Lane) -> String {
        let status = lane.status
        var parts = ["\"provider\":\(jsonQuoted(lane.provider))", "\"phase\":\"\(phase(lane))\"", "\"durable\":\(lane.isDurable)"]
        parts += ["\"events\":\(status.events)", "\"memory_bytes\":\(status.memory)", "\"disk_bytes\":\(status.disk)"]
        parts += [oldest(status.oldest), "\"rate_per_s\":\(tenths(status.rate))", "\"in_flight\":\(status.underWay)"]
        parts += ["\"breaker\":\"\(status.breaker.rawValue)\"", "\"paused_s\":\(status.paused.map { seconds($0.nanoseconds) } ?? "null")"]
        parts.append("\"failed_attempts\":\(status.attempts)")
        if let error = status.lastError {
            let age = status.lastErrorAge.map { seconds($0.nanoseconds) } ?? "null"
            parts.append("\"last_error\":{\"code\":\(error.code),\"message\":\(jsonQuoted(error.message)),\"age_s\":\(age)}")
        } else {
            parts.append("\"last_error\":null")
        }
        parts.append("\"store_fault\":\(status.storeFault.map(jsonQuoted) ?? "null")")
        parts += ["\"taken\":\(status.account.totalTaken)", "\"resumed\":\(status.account.totalResumed)"]
        parts += LaneAccount.Fate.allCases.map { "\"\($0.rawValue)\":\(status.account.total($0))" }
        parts.append("\"retries\":\(status.account.retries)")
        parts.append("\"age_bounds_s\":[\(status.ages.bounds.map(seconds).joined(separator: ","))]")
        parts.append("\"age_counts\":[\(status.ages.counts.map { String($0) }.joined(separator: ","))]")
        return "{\(parts.joined(separator: ","))}"
    }

    private func json(_ held: HeldStatus) -> String {
        "{\"events\":\(held.events),\"bytes\":\(held.bytes),\(oldest(held.oldest)),\"fault\":\(held.fault.map(jsonQuoted) ?? "null")}"
    }

    private func json(_ erasures: Erasures.Status) -> String {
        let jobs = erasures.open.map {
            "{\"provider\":\(jsonQuoted($0.provider)),\"phase\":\"\($0.phase.rawValue)\",\"jobs\":\($0.jobs)}"
        }
        let late = erasures.late.map(jsonQuoted).joined(separator: ",")
        let fault = erasures.fault.map(jsonQuoted) ?? "null"
        return "{\"jobs\":[\(jobs.joined(separator: ","))],\"late\":[\(late)],\"fault\":\(fault)}"
    }

    private func json(_ source: SourceStatus) -> String {
        let counts = source.counts
        return "{\"name\":\(jsonQuoted(source.name)),\"address\":\(jsonQuoted(source.address)),\"requests\":\(counts.requests),"
            + "\"waiting\":\(counts.waiting),\"connections\":\(counts.connections),\"slow_connections\":\(counts.slowConnections),"
            + "\"body_bytes\":\(counts.memory)}"
    }

    private static func json(_ spool: SpoolSummary, _ at: Int64) -> String {
        let fault = spool.fault.map(jsonQuoted) ?? "null"
        return "{\"provider\":\(jsonQuoted(spool.provider)),\"file\":\(jsonQuoted(spool.path)),\"events\":\(spool.events),"
            + "\"bytes\":\(spool.bytes),\(oldest(spool.oldest, at)),\"fault\":\(fault)}"
    }

    private func oldest(_ time: Int64?) -> String { StatusReport.oldest(time, at) }

    private static func oldest(_ time: Int64?, _ at: Int64) -> String {
        "\"oldest\":\(time.map { jsonQuoted(timestamp($0)) } ?? "null"),\"oldest_age_s\":\(time.map { seconds(max(0, at - $0)) } ?? "null")"
    }

    private func phase(_ lane: RouterStatus.Lane) -> String {
        lane.isClosed ? "closed" : lane.isRetiring && lane.status.phase != .ended ? "retiring" : lane.status.phase.rawValue
    }

    // MARK: - For a person

    public func text(_ style: Style) -> String {
        var lines: [String] = []
        if let router, let pid, let configuration, let started {
            lines.append(
                style.strong("switchyard \(version)") + ", process \(pid), running for \(brief(at - started)) with "
                    + "\(printable(configuration)), plan \(router.generation); \(grouped(router.events)) events received")
            for source in sources {
                let counts = source.counts
                lines.append(
                    "  \(printable(source.name)) at \(source.address): \(grouped(counts.requests)) requests, \(grouped(counts.waiting)) waiting, "
                        + "\(grouped(counts.connections)) connections")
            }
            lines += modules.map { $0.text(style) }
            lines.append("")
            lines += table(router.lanes, style)
            for lane in router.lanes { lines += troubles(lane, style) }
        } else {
            lines.append("no router runs with the state folder \(printable(state))")
        }
        if let held, held.events > 0 || held.fault != nil { lines += ["", style.strong("Held for consent") + ": " + text(of: held)] }
        if let erasures = router?.erasures { lines += text(of: erasures, style) }
        if !spools.isEmpty {
            lines += ["", router == nil ? "On disk" : "On disk, without a provider that takes it"]
            for spool in spools {
                lines.append("  \(printable(spool.provider)): \(text(of: spool))")
            }
            if router != nil {
                lines.append("  switchyard spool move OLD NEW gives them to another provider, spool destroy NAME destroys them")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func text(of held: HeldStatus) -> String {
        let age = held.oldest.map { ", the oldest for \(brief(at - $0))" } ?? ""
        return "\(grouped(held.events)) events, \(bytes(held.bytes))\(age)" + (held.fault.map { "; no more can be held: \($0)" } ?? "")
    }

    private func text(of erasures: Erasures.Status, _ style: Style) -> [String] {
        var lines = erasures.open.map { count in
            let line = "  \(printable(count.provider)): \(grouped(count.jobs)) \(count.phase.words)"
            return count.phase.needsPerson ? style.bad(line) : line
        }
        lines += erasures.late.map { style.bad("  \(printable($0)): has not answered within the time of an ask") }
        if let fault = erasures.fault { lines.append(style.bad("  \(fault)")) }
        return lines.isEmpty ? [] : ["", style.strong("Erasures") + " (switchyard consent erasures lists them)"] + lines
    }

    public func text(of spool: SpoolSummary) -> String {
        let age = spool.oldest.map { ", the oldest for \(brief(at - $0))" } ?? ""
        return spool.fault ?? "\(grouped(spool.events)) events, \(bytes(spool.bytes))\(age)"
    }

    private func table(_ lanes: [RouterStatus.Lane], _ style: Style) -> [String] {
        let head = ["PROVIDER", "STATE", "WAITING", "MEMORY", "DISK", "OLDEST", "RATE", "BREAKER"]
        let rows = lanes.map { lane in
            let status = lane.status
            return [
                printable(lane.provider), phase(lane), grouped(status.events), bytes(status.memory),
                lane.isDurable ? bytes(status.disk) : "-",
                status.oldest.map { brief(at - $0) } ?? "-", "\(tenths(status.rate))/s",
                status.breaker == .probing ? "half open" : status.breaker.rawValue,
            ]
        }
        assert(rows.allSatisfy { $0.count == head.count }, "a row of the table has another number of cells than its head")
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max()! }
        func line(_ cells: [String]) -> String {
            var text = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
            while text.last == " " { text.removeLast() }
            return text
        }
        return [style.faint(line(head))]
            + zip(lanes, rows).map { lane, row in
                let isWell = lane.status.attempts == 0 && lane.status.storeFault == nil && lane.status.phase == .open
                return isWell ? line(row) : style.bad(line(row))
            }
    }

    private func troubles(_ lane: RouterStatus.Lane, _ style: Style) -> [String] {
        let status = lane.status
        var lines: [String] = []
        if let error = status.lastError {
            let message = error.message.isEmpty ? "code \(error.code)" : printable(error.message)
            let when = status.lastErrorAge.map { ", \(brief($0.nanoseconds)) ago" } ?? ""
            let count = status.attempts > 0 ? "\(grouped(status.attempts)) failed attempts, the last: " : "works again; the last error: "
            lines.append("  \(printable(lane.provider)): \(count)\(message)\(when)")
        }
        if let paused = status.paused {
            lines.append("  \(printable(lane.provider)): asked for a pause; nothing is sent to it for \(brief(paused.nanoseconds))")
        }
        if let fault = status.storeFault { lines.append("  \(printable(lane.provider)): cannot store: \(fault)") }
        let lost = LaneAccount.Fate.allCases.filter { $0 != .delivered && $0 != .filtered && status.account.total($0) > 0 }
        if !lost.isEmpty {
            let parts = lost.map { "\(grouped(status.account.total($0))) \($0.rawValue)" }
            lines.append("  \(printable(lane.provider)): \(parts.joined(separator: ", "))")
        }
        return lines
    }

    private func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func seconds(_ nanoseconds: Int64) -> String { StatusReport.seconds(nanoseconds) }

    /// Returns seconds with three decimal places.
    private static func seconds(_ nanoseconds: Int64) -> String {
        let milliseconds = max(0, nanoseconds) / 1_000_000
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    private func brief(_ nanoseconds: Int64) -> String {
        let seconds = max(0, nanoseconds) / 1_000_000_000
        if seconds < 60 { return "\(seconds)s" }
        if seconds < 3600 { return "\(seconds / 60)m \(seconds % 60)s" }
        if seconds < 86_400 { return "\(seconds / 3600)h \(seconds / 60 % 60)m" }
        return "\(seconds / 86_400)d \(seconds / 3600 % 24)h"
    }

    private func bytes(_ count: Int) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var unit = 0
        var scaled = Double(count)
        while scaled >= 1000, unit < units.count - 1 {
            scaled /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : "\(tenths(scaled)) \(units[unit])"
    }
}
