// Renders the counts of a router in the Prometheus text format. Names and labels are stable and listed in docs/operating.md. No label holds
// data of an event.

internal import Erasing
internal import Generations
internal import Glibc
internal import Holding
internal import Ingest
internal import Judging
internal import Listener
internal import Platform
internal import Queueing
public import Router
internal import Startup
internal import Terminal
internal import Workers

public struct Metrics {
    private var text = ""

    public static func text(
        _ router: RouterStatus, _ listeners: [SourceStatus], modules: [ModuleSourceStatus] = [], started: Int64
    ) -> String {
        var metrics = Metrics()
        metrics.addProcess(started)
        metrics.addEntrance(router, listeners)
        metrics.addModules(modules)
        metrics.addRoutes(router)
        if let held = router.held { metrics.addHeld(held, at: router.at) }
        if let erasures = router.erasures { metrics.addErasures(erasures) }
        metrics.addLanes(router)
        return metrics.text
    }

    // MARK: - Families

    private mutating func addProcess(_ started: Int64) {
        family("switchyard_info", kind: "gauge", help: "The running version.", samples: [("version=\(quoted(version))", 1)])
        family(
            "process_start_time_seconds", kind: "gauge", help: "When the process was started, in seconds since 1970.",
            samples: [("", seconds(started))])
        if let process = ProcessFigures() {
            family("process_cpu_seconds_total", kind: "counter", help: "Processor time of the process.", samples: [("", process.cpu)])
            family(
                "process_resident_memory_bytes", kind: "gauge", help: "Resident memory of the process.",
                samples: [("", Double(process.resident))])
            family("process_open_fds", kind: "gauge", help: "Open file descriptors.", samples: [("", Double(process.descriptors))])
        }
    }

    private mutating func addEntrance(_ router: RouterStatus, _ listeners: [SourceStatus]) {
        family(
            "switchyard_configuration_generation", kind: "gauge", help: "The number of the active plan; each reload adds 1.",
            samples: [("", Double(router.generation))])
        func sources(_ value: (SourceCounts) -> Int) -> [(String, Double)] {
            router.sources.map { ("source=\(quoted($0.name))", Double(value($0.counts))) }
        }
        family("switchyard_source_events_total", kind: "counter", help: "Valid events, by source.", samples: sources(\.events))
        family(
            "switchyard_source_rejected_total", kind: "counter", help: "Lines that were not valid events, by source.",
            samples: sources(\.rejected))
        family(
            "switchyard_consent_events_total", kind: "counter", help: "Consent events, by source and outcome.",
            samples: router.sources.flatMap { source in
                source.counts.consent.named.map {
                    ("source=\(quoted(source.name)),outcome=\(quoted($0.name))", Double($0.count))
                }
            })
        family(
            "switchyard_duplicates_total", kind: "counter", help: "Duplicate events that were dropped.",
            samples: [("", Double(router.duplicates))])
        family("switchyard_emitted_total", kind: "counter", help: "Events that emit rules made.", samples: [("", Double(router.emitted))])
        family(
            "switchyard_plan_violations_total", kind: "counter",
            help: "Events that violated the tracking plan, by what was done with them.",
            samples: router.violations.map { ("action=\(quoted($0.action))", Double($0.count)) })
        if let inbox = router.inbox {
            family(
                "switchyard_inbox_submissions", kind: "gauge", help: "Requests that wait for a worker.",
                samples: [("", Double(inbox.submissions))])
            family(
                "switchyard_inbox_bytes", kind: "gauge", help: "Bytes of requests that wait for a worker.",
                samples: [("", Double(inbox.bytes))])
            header("switchyard_ingest_seconds", kind: "histogram", help: "Time from the arrival of a request's events to their answer.")
            add("switchyard_ingest_seconds", labels: "", histogram: inbox.latencies, per: 1e9)
        }
        guard !listeners.isEmpty else { return }
        func counts(_ value: (SourceStatus) -> Int) -> [(String, Double)] {
            listeners.map { ("source=\(quoted($0.name))", Double(value($0))) }
        }
        family(
            "switchyard_listener_requests_total", kind: "counter", help: "Requests that ended, by source, dialect and class of the answer.",
            samples: listeners.flatMap { source in
                source.counts.answers.map {
                    let labels = "source=\(quoted(source.name)),dialect=\(quoted($0.dialect)),status=\(quoted($0.outcome.rawValue))"
                    return (labels, Double($0.requests))
                }
            })
        family("switchyard_listener_connections", kind: "gauge", help: "Open connections.", samples: counts(\.counts.connections))
        family(
            "switchyard_listener_slow_connections_total", kind: "counter", help: "Connections that were closed since they were slow.",
            samples: counts(\.counts.slowConnections))
        family(
            "switchyard_listener_shed_connections_total", kind: "counter",
            help: "Idle connections that were closed to make room for others.", samples: counts(\.counts.shedConnections))
        family(
            "switchyard_listener_waiting_requests", kind: "gauge", help: "Requests that wait for their answer.",
            samples: counts(\.counts.waiting))
        family(
            "switchyard_listener_body_bytes", kind: "gauge", help: "Bytes of request bodies in memory.", samples: counts(\.counts.memory))
    }

    private mutating func addModules(_ modules: [ModuleSourceStatus]) {
        guard !modules.isEmpty else { return }
        func values(_ value: (SourceCondition) -> Double?) -> [(String, Double)] {
            modules.compactMap { source in value(source.condition).map { ("source=\(quoted(source.name))", $0) } }
        }
        family(
            "switchyard_source_state", kind: "gauge", help: "1 for the state of a source of a module, 0 for the others.",
            samples: modules.flatMap { source in
                [SourceState.connecting, .connected, .fault].map {
                    ("source=\(quoted(source.name)),state=\(quoted($0.rawValue))", source.condition.state == $0 ? 1.0 : 0.0)
                }
            })
        family(
            "switchyard_source_behind_events", kind: "gauge", help: "Events that a source has still to read, if it knows them.",
            samples: values { $0.eventsBehind.map(Double.init) })
        family(
            "switchyard_source_behind_seconds", kind: "gauge",
            help: "How long the oldest event has waited that a source has still to read, if it knows that.",
            samples: values { $0.timeBehind.map { Double($0.nanoseconds) / 1e9 } })
        family(
            "switchyard_source_open_blocks", kind: "gauge", help: "Blocks of a source that are not acknowledged.",
            samples: values { Double($0.openBlocks) })
        family(
            "switchyard_source_open_bytes", kind: "gauge", help: "Bytes of a source that are not acknowledged.",
            samples: values { Double($0.openBytes) })
        family(
            "switchyard_source_paused", kind: "gauge", help: "1 while a source is told to hand over nothing.",
            samples: values { $0.isPaused ? 1 : 0 })
        family(
            "switchyard_source_acknowledged_total", kind: "counter", help: "Blocks of a source that were acknowledged.",
            samples: values { Double($0.acknowledged) })
        family(
            "switchyard_source_wrong_blocks_total", kind: "counter",
            help: "Blocks of a source that were refused, because they break a rule.",
            samples: values { Double($0.wrong) })
        family(
            "switchyard_source_lost_blocks_total", kind: "counter",
            help: "Blocks of a source that are not acknowledged, because events of them were lost.",
            samples: values { Double($0.lost) })
    }

    private mutating func addRoutes(_ router: RouterStatus) {
        family(
            "switchyard_route_events_total", kind: "counter", help: "Verdicts on valid and emitted events, by route.",
            samples: router.routes.flatMap { route in
                assert(route.verdicts.count == Tally.columns.count, "a route has other verdicts than the tally")
                // A held event has no verdict yet, and a counter must not fall.
                return zip(Tally.columns, route.verdicts).filter { $0.0 != .held }.map {
                    ("route=\(quoted(route.name)),verdict=\(quoted($0.key))", Double($1))
                }
            })
        family(
            "switchyard_route_keep_errors_total", kind: "counter", help: "How often the expression of sample.keep failed.",
            samples: router.routes.map { ("route=\(quoted($0.name))", Double($0.keepErrors)) })
        family(
            "switchyard_route_transform_errors_total", kind: "counter", help: "How often an expression of the transform had no value.",
            samples: router.routes.map { ("route=\(quoted($0.name))", Double($0.transformErrors)) })
    }

    private mutating func addHeld(_ held: HeldStatus, at now: Int64) {
        family("switchyard_held_events", kind: "gauge", help: "Events that wait for consent.", samples: [("", Double(held.events))])
        family("switchyard_held_bytes", kind: "gauge", help: "Bytes of events that wait for consent.", samples: [("", Double(held.bytes))])
        family(
            "switchyard_held_oldest_age_seconds", kind: "gauge", help: "Age of the oldest event that waits for consent; 0 if none waits.",
            samples: [("", held.oldest.map { Double(max(0, now - $0)) / 1e9 } ?? 0)])
        family("switchyard_held_failing", kind: "gauge", help: "1 while events cannot be held.", samples: [("", held.fault == nil ? 0 : 1)])
    }

    private mutating func addErasures(_ erasures: Erasures.Status) {
        func samples(_ counts: [ErasureCount], _ label: String) -> [(String, Double)] {
            counts.map { ("provider=\(quoted($0.provider)),\(label)=\(quoted($0.phase.rawValue))", Double($0.jobs)) }
        }
        family(
            "switchyard_erasures_total", kind: "counter", help: "Erasures that have ended or need a person, by provider and outcome.",
            samples: samples(erasures.results, "outcome"))
        family(
            "switchyard_erasures", kind: "gauge", help: "Erasures that are open or need a person now, by provider and phase.",
            samples: samples(erasures.open, "phase"))
        family(
            "switchyard_erasures_failing", kind: "gauge", help: "1 while the jobs of erasures cannot be read or written.",
            samples: [("", erasures.fault == nil ? 0 : 1)])
    }

    private mutating func addLanes(_ router: RouterStatus) {
        // One line for each provider: if two lanes have the same name, the retiring one is left out.
        let lanes = router.lanes.filter { !$0.isRetiring }
        func each(_ value: (LaneStatus) -> Double) -> [(String, Double)] {
            lanes.map { ("provider=\(quoted($0.provider))", value($0.status)) }
        }
        family(
            "switchyard_lane_taken_total", kind: "counter", help: "Events that the lane took.",
            samples: each { Double($0.account.totalTaken) })
        family(
            "switchyard_lane_resumed", kind: "gauge", help: "Events that an earlier run had left.",
            samples: each { Double($0.account.totalResumed) })
        family(
            "switchyard_lane_settled_total", kind: "counter", help: "Events of the lane, by fate.",
            samples: lanes.flatMap { lane in
                LaneAccount.Fate.allCases.map { fate in
                    ("provider=\(quoted(lane.provider)),fate=\(quoted(fate.rawValue))", Double(lane.status.account.total(fate)))
                }
            })
        family(
            "switchyard_lane_retries_total", kind: "counter", help: "Deliveries that were tried again.",
            samples: each { Double($0.account.retries) })
        family(
            "switchyard_lane_abandoned_total", kind: "counter", help: "Deliveries past their deadline.",
            samples: each { Double($0.account.abandoned) })
        family(
            "switchyard_lane_waiting_events", kind: "gauge", help: "Events of the lane that have no fate yet.",
            samples: each { Double($0.events) })
        family(
            "switchyard_lane_memory_bytes", kind: "gauge", help: "Bytes in memory of events that have no fate yet.",
            samples: each { Double($0.memory) })
        family(
            "switchyard_lane_disk_bytes", kind: "gauge", help: "Bytes of these events that are stored on disk or will be.",
            samples: each { Double($0.disk) })
        family(
            "switchyard_lane_oldest_age_seconds", kind: "gauge", help: "Age of the oldest event that has no fate yet; 0 if none waits.",
            samples: each { lane in lane.oldest.map { Double(max(0, router.at - $0)) / 1e9 } ?? 0 })
        family("switchyard_lane_batches_in_flight", kind: "gauge", help: "Batches in flight.", samples: each { Double($0.underWay) })
        family(
            "switchyard_lane_failed_attempts", kind: "gauge", help: "Consecutive attempts that failed.",
            samples: each { Double($0.attempts) })
        let breakers: [LaneStatus.Breaker] = [.closed, .open, .probing]
        family(
            "switchyard_lane_breaker", kind: "gauge", help: "1 for the current state of the breaker.",
            samples: lanes.flatMap { lane in
                breakers.map { state in
                    ("provider=\(quoted(lane.provider)),state=\(quoted(state.rawValue))", lane.status.breaker == state ? 1.0 : 0)
                }
            })
        family(
            "switchyard_lane_store_failing", kind: "gauge", help: "1 while events cannot be stored.",
            samples: each { $0.storeFault == nil ? 0 : 1 })
        family(
            "switchyard_lane_stopped", kind: "gauge", help: "1 if the lane has stopped permanently.",
            samples: each { $0.phase == .stopped ? 1 : 0 })
        histograms(
            "switchyard_lane_delivery_age_seconds", help: "How old events were when they were delivered.", lanes: lanes, path: \.ages,
            per: 1e9)
        histograms("switchyard_lane_batch_events", help: "How many events a delivered batch had.", lanes: lanes, path: \.sizes, per: 1)
    }

    // MARK: - The text

    private mutating func header(_ name: String, kind: String, help: String) {
        assert(name.hasPrefix("switchyard_") || name.hasPrefix("process_"), "a metric has a name of another program")
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    private mutating func family(_ name: String, kind: String, help: String, samples: [(labels: String, value: Double)]) {
        guard !samples.isEmpty else { return }
        header(name, kind: kind, help: help)
        for sample in samples { line(name, labels: sample.labels, value: sample.value) }
    }

    private mutating func histograms(
        _ name: String, help: String, lanes: [RouterStatus.Lane], path: KeyPath<LaneStatus, Histogram>, per unit: Double
    ) {
        guard !lanes.isEmpty else { return }
        header(name, kind: "histogram", help: help)
        for lane in lanes { add(name, labels: "provider=\(quoted(lane.provider))", histogram: lane.status[keyPath: path], per: unit) }
    }

    private mutating func add(_ name: String, labels: String, histogram: Histogram, per unit: Double) {
        assert(histogram.counts.count >= histogram.bounds.count, "a histogram has fewer counts than bounds")
        let front = labels.isEmpty ? "" : labels + ","
        var total = 0
        for (bound, count) in zip(histogram.bounds, histogram.counts) {
            total += count
            line(name + "_bucket", labels: front + "le=\"\(number(Double(bound) / unit))\"", value: Double(total))
        }
        assert(total <= histogram.total, "the buckets of a histogram hold more than all")
        line(name + "_bucket", labels: front + "le=\"+Inf\"", value: Double(histogram.total))
        line(name + "_sum", labels: labels, value: histogram.sum / unit)
        line(name + "_count", labels: labels, value: Double(histogram.total))
    }

    private mutating func line(_ name: String, labels: String, value: Double) {
        text += name + (labels.isEmpty ? "" : "{\(labels)}") + " \(number(value))\n"
    }

    /// Formats a whole number without a decimal point.
    private func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    private func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }
}

/// Quotes the value of a label. Names come from the configuration and may hold anything but control characters.
private func quoted(_ text: String) -> String {
    var quoted = "\""
    for character in text.unicodeScalars {
        switch character {
        case "\\", "\"": quoted += "\\" + String(character)
        case "\n": quoted += "\\n"
        default: quoted.unicodeScalars.append(character)
        }
    }
    return quoted + "\""
}

/// The figures of the system about this process.
private struct ProcessFigures {
    var cpu: Double
    var resident: Int
    var descriptors: Int

    init?() {
        guard let pages = ProcessFigures.residentPages() else { return nil }
        cpu = Double(Clock.processorTime()) * 1e-9
        resident = pages * sysconf(Int32(_SC_PAGESIZE))
        descriptors = DescriptorLimit.open
    }

    /// Returns the second number of /proc/self/statm, which is the number of resident pages.
    private static func residentPages() -> Int? {
        guard let file = fopen("/proc/self/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let numbers = line.prefix { $0 != 0 }.split(separator: 0x20)
        return numbers.count > 1 ? Int(String(decoding: numbers[1].map { UInt8(bitPattern: $0) }, as: UTF8.self)) : nil
    }
}
