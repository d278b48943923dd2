import Foundation
import Platform
import Testing

@testable import InspectCommands
@testable import RouteTesting
@testable import Terminal

/// Returns a status with one source, one route and one lane of this name.
private func status(_ name: String = "crm", events: Int = 0, delivered: Int = 0, ages: [Int] = [0, 0, 0], more: String = "") -> JSONValue {
    let text = """
        {"version":"1.0","pid":7,"generation":1,"events":\(events),"held":null,
         "inputs":[{"name":"web","events":\(events),"rejected":3}],
         "routes":[{"name":"all","admitted":\(delivered),"filtered":1,"denied":2,"held":0,"sampled_out":4,"limited":1}],
         "lanes":[{"provider":"\(name)","phase":"open","events":12,"memory_bytes":2048,"disk_bytes":0,"oldest_age_s":75.5,
                   "breaker":"closed","failed_attempts":0,"delivered":\(delivered),"age_bounds_s":[0.001,1],"age_counts":\(ages)\(more)}]}
        """
    return JSONValue(parsing: text)!
}

private func table(_ now: JSONValue, before: JSONValue? = nil, width: Int = 120, isColoured: Bool = false) -> [String] {
    let start = Instant(nanoseconds: 0)
    return TopTable(
        now: .init(status: now, at: start + .seconds(2)), before: before.map { .init(status: $0, at: start) }, width: width,
        style: Style(isColoured: isColoured)
    ).text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}

private func cells(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

@Suite("The live table") struct TopTests {
    @Test("shows sources, routes and lanes with their rates since the look before")
    func rates() {
        let lines = table(
            status(events: 3000, delivered: 500, ages: [8, 2, 0]), before: status(events: 1000, delivered: 100, ages: [8, 0, 0]))
        #expect(lines[0] == "switchyard 1.0, process 7, plan 1, 3,000 events, 1,000/s")
        #expect(cells(lines[2]) == ["SOURCE", "EVENTS", "EVENTS/s", "INVALID"] && cells(lines[3]) == ["web", "3,000", "1,000", "3"])
        #expect(cells(lines[6]) == ["all", "200", "500", "1", "2", "0", "5"])
        #expect(
            cells(lines[9]) == ["crm", "open", "200", "≤1s", "≤1s", "12", "1m", "2.0", "kB", "0", "B", "closed", "0"])
    }

    @Test("shows how far the sources of modules are behind, and marks one that has a fault or lost something")
    func moduleSources() {
        func source(_ change: (inout String) -> Void = { _ in }, acknowledged: Int = 0) -> JSONValue {
            var module = """
                {"name":"log","state":"connected","message":"","behind_events":12000,"behind_s":90.5,"open_blocks":3,"open_bytes":2048,
                 "waiting_blocks":1,"paused":false,"ended":false,"acknowledged_blocks":\(acknowledged),"wrong_blocks":0,"lost_blocks":0}
                """
            change(&module)
            return JSONValue(parsing: status().json.dropLast() + ",\"module_sources\":[\(module)]}")!
        }
        let lines = table(source(acknowledged: 50), before: source(acknowledged: 10))
        #expect(lines[5].hasPrefix("MODULE SOURCE      STATE  BEHIND  BEHIND BY  BLOCKS/s  UNANSWERED"))
        #expect(cells(lines[6]) == ["log", "connected", "12,000", "1m", "20", "3", "2.0", "kB", "0", "0"])
        let unknown = source { $0 = $0.replacingOccurrences(of: "12000", with: "null").replacingOccurrences(of: "90.5", with: "null") }
        #expect(cells(table(unknown)[6]).prefix(5) == ["log", "connected", "-", "-", "-"])
        for (member, state) in [("paused", "paused"), ("ended", "ended")] {
            let there = source { $0 = $0.replacingOccurrences(of: "\"\(member)\":false", with: "\"\(member)\":true") }
            #expect(cells(table(there)[6])[1] == state)
        }
        let fault = source {
            $0 = $0.replacingOccurrences(of: "connected", with: "fault")
            $0 = $0.replacingOccurrences(of: "\"paused\":false", with: "\"paused\":true")
        }
        #expect(cells(table(fault)[6])[1] == "fault")
        #expect(!table(source(), isColoured: true)[6].hasPrefix("\u{1b}"))
        for (good, bad) in [
            ("\"connected\"", "\"fault\""), ("wrong_blocks\":0", "wrong_blocks\":1"), ("lost_blocks\":0", "lost_blocks\":1"),
        ] {
            let marked = source { $0 = $0.replacingOccurrences(of: good, with: bad) }
            #expect(table(marked, isColoured: true)[6].hasPrefix("\u{1b}[33mlog"))
        }
    }

    @Test("shows no rate at the first look, and none below zero after a new start")
    func unknown() {
        #expect(cells(table(status(events: 10))[3]) == ["web", "10", "-", "3"])
        #expect(cells(table(status(events: 10), before: status(events: 500))[3]) == ["web", "10", "0", "3"])
    }

    @Test("no line is longer than the terminal, and the columns on the right give way", arguments: [20, 33, 50, 79, 120])
    func narrow(width: Int) {
        let lines = table(status(String(repeating: "long", count: 20)), width: width)
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        // A column that does not fit is left out as a whole.
        #expect(
            lines.filter { $0.hasPrefix("SOURCE") || $0.hasPrefix("ROUTE") || $0.hasPrefix("PROVIDER") }.allSatisfy { !$0.hasSuffix("…") })
    }

    @Test("control characters in names are shown as text")
    func hostile() {
        let lines = table(status("\\u001b[2Jcrm\\u202e"))
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f || $0.value == 0x202e })
        #expect(lines.contains { $0.hasPrefix("\\u001b[2Jcrm") })
    }

    @Test("colours mark a lane that is not well, and without colours there is no escape")
    func colours() {
        let failing = JSONValue(parsing: status().json.replacingOccurrences(of: "\"failed_attempts\":0", with: "\"failed_attempts\":3"))!
        #expect(table(failing, isColoured: true).contains { $0.hasPrefix("\u{1b}[33mcrm") })
        #expect(!table(failing).joined().contains("\u{1b}"))
    }

    @Test("without a terminal one table is written, over one interval")
    func once() throws {
        var looks = 0
        var waits: [Duration] = []
        var shown: [String] = []
        try Top(interval: .seconds(5), isLive: false, style: Style()).run(
            look: {
                looks += 1
                return TopTable.Look(status: status(events: looks * 10), at: Instant(nanoseconds: Int64(looks) * 5_000_000_000))
            }, wait: { waits.append($0) }, width: { 0 }, show: { shown.append($0) })
        #expect(looks == 2 && waits == [.seconds(5)] && shown.count == 1)
        #expect(shown[0].hasPrefix("switchyard 1.0, process 7, plan 1, 20 events, 2.0/s\n"))
    }

    @Test("on a terminal the table is drawn again at each interval until the router does not answer")
    func live() {
        struct Gone: Error {}
        var looks = 0
        var shown: [String] = []
        #expect(throws: Gone.self) {
            try Top(interval: .seconds(2), isLive: true, style: Style()).run(
                look: {
                    looks += 1
                    if looks == 4 { throw Gone() }
                    return TopTable.Look(status: status(events: looks), at: Instant(nanoseconds: Int64(looks) * 2_000_000_000))
                }, wait: { _ in }, width: { 60 }, show: { shown.append($0) })
        }
        #expect(shown.count == 3 && shown.allSatisfy { $0.hasPrefix("\u{1b}[H\u{1b}[J") })
    }
}
