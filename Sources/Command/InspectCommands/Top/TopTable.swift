// Draws the live table of `switchyard top` from the status of a router and the status before it. Pure: two values and a width in, a text
// out. No line is longer than the width, and a name with control characters shows them as text.

internal import Platform
internal import RouteTesting
internal import Terminal

struct TopTable {
    /// The status of a router, as `status --json` gives it, and when it was asked for.
    struct Look {
        var status: JSONValue
        var at: Instant
    }

    let now: Look
    /// The look before. It is nil at the first one; rates over the time in between are then not known.
    let before: Look?
    let width: Int
    let style: Style

    static let narrowest = 20

    /// The text, one line after the other.
    var text: String {
        var lines = [heading]
        lines += table(
            ["SOURCE", "EVENTS", "EVENTS/s", "INVALID"],
            rows(of: "inputs") { [$0.name, $0.count("events"), $0.rate("events"), $0.count("rejected")] })
        lines += table(
            ["MODULE SOURCE", "STATE", "BEHIND", "BEHIND BY", "BLOCKS/s", "UNANSWERED", "SIZE", "REFUSED", "LOST"],
            rows(of: "module_sources") { row in
                [
                    row.name, row.sourceState, row.known("behind_events"), row.seconds("behind_s"), row.rate("acknowledged_blocks"),
                    row.count("open_blocks"), amount(Int(row.number("open_bytes"))), row.count("wrong_blocks"), row.count("lost_blocks"),
                ]
            }
        ) { row in row.text("state") != "fault" && row.number("wrong_blocks") + row.number("lost_blocks") == 0 }
        lines += table(
            ["ROUTE", "ADMITTED/s", "ADMITTED", "FILTERED", "DENIED", "HELD", "SAMPLED OUT"],
            rows(of: "routes") { row in
                let sampled = row.number("sampled_out") + row.number("limited")
                return [
                    row.name, row.rate("admitted"), row.count("admitted"), row.count("filtered"), row.count("denied"), row.count("held"),
                    grouped(Int(sampled)),
                ]
            })
        lines += table(
            ["PROVIDER", "STATE", "OUT/s", "HALF BY", "ALL BY", "WAITING", "OLDEST", "MEMORY", "DISK", "BREAKER", "FAILED"],
            rows(of: "lanes") { row in
                [
                    row.name, row.text("phase"), row.rate("delivered"), row.age(0.5), row.age(1), row.count("events"),
                    row.seconds("oldest_age_s"), amount(Int(row.number("memory_bytes"))), amount(Int(row.number("disk_bytes"))),
                    row.text("breaker") == "half_open" ? "half open" : row.text("breaker"), row.count("failed_attempts"),
                ]
            }
        ) { row in row.text("phase") == "open" && row.number("failed_attempts") == 0 && row.text("breaker") == "closed" }
        if let held = now.status["held"], held.number("events") > 0 {
            lines += ["", cut("held for consent: \(grouped(Int(held.number("events"))))")]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var heading: String {
        let status = now.status
        let events = Row(name: "", value: status, before: before?.status, passed: passed)
        let rate = before == nil ? "" : ", \(events.rate("events"))/s"
        return style.strong(
            cut(
                "switchyard \(printable(status.string("version"))), process \(Int(status.number("pid"))), plan \(Int(status.number("generation"))), "
                    + "\(grouped(Int(status.number("events")))) events\(rate)"))
    }

    /// The seconds between the two looks. It is nil at the first look.
    private var passed: Double? {
        guard let before else { return nil }
        let seconds = Double((now.at - before.at).nanoseconds) / 1e9
        return seconds > 0 ? seconds : nil
    }

    // MARK: - Rows

    private struct Row {
        /// The name, without control characters.
        var name: String
        var value: JSONValue
        /// The same thing at the look before. It is nil if there was none.
        var before: JSONValue?
        var passed: Double?

        func number(_ member: String) -> Double { value.number(member) }
        func count(_ member: String) -> String { grouped(Int(number(member))) }
        func text(_ member: String) -> String { printable(value.string(member)) }

        /// The count, or a dash if it is not known.
        func known(_ member: String) -> String {
            guard case .number? = value[member] else { return "-" }
            return count(member)
        }

        var sourceState: String {
            if case .bool(true)? = value["ended"] { return "ended" }
            let state = text("state")
            if case .bool(true)? = value["paused"], state != "fault" { return "paused" }
            return state
        }

        func seconds(_ member: String) -> String {
            guard case .number? = value[member] else { return "-" }
            return TopTable.time(number(member))
        }

        /// How much the number grows in a second.
        func rate(_ member: String) -> String {
            guard let before, let passed else { return "-" }
            // A router that was started anew counts from 0.
            let rate = max(0, number(member) - before.number(member)) / passed
            return rate >= 10 || rate == 0 ? grouped(Int(rate.rounded())) : "\(Double(Int(rate * 10)) / 10)"
        }

        /// The age within which this share of the events was delivered since the look before, or in all if there was none before.
        func age(_ share: Double) -> String {
            guard let bounds = value["age_bounds_s"]?.numbers, var counts = value["age_counts"]?.numbers else { return "-" }
            if let old = before?["age_counts"]?.numbers, old.count == counts.count { counts = zip(counts, old).map { max(0, $0 - $1) } }
            let total = counts.reduce(0, +)
            guard total > 0 else { return "-" }
            var sum = 0.0
            for (index, count) in counts.enumerated() {
                sum += count
                guard sum >= total * share else { continue }
                return index < bounds.count ? "≤" + TopTable.time(bounds[index]) : ">" + TopTable.time(bounds.last ?? 0)
            }
            return "-"
        }
    }

    private func rows(of member: String, _ cells: (Row) -> [String]) -> [(row: Row, cells: [String])] {
        guard case .list(let items)? = now.status[member] else { return [] }
        var earlier: [JSONValue] = []
        if case .list(let items)? = before?.status[member] { earlier = items }
        return items.map { item in
            let key = item.string("name").isEmpty ? item.string("provider") : item.string("name")
            let old = earlier.first { ($0.string("name").isEmpty ? $0.string("provider") : $0.string("name")) == key }
            let row = Row(name: printable(key), value: item, before: old, passed: passed)
            return (row, cells(row))
        }
    }

    static func time(_ seconds: Double) -> String {
        if seconds < 1 { return "\(Int((seconds * 1000).rounded()))ms" }
        if seconds < 60 { return "\(Int(seconds))s" }
        if seconds < 3600 { return "\(Int(seconds) / 60)m" }
        return seconds < 86_400 ? "\(Int(seconds) / 3600)h" : "\(Int(seconds) / 86_400)d"
    }

    // MARK: - Layout

    /// Lays out a table. On a narrow terminal the columns on the right are left out, and the names are cut.
    private func table(
        _ head: [String], _ rows: [(row: Row, cells: [String])], isWell: (Row) -> Bool = { _ in true }
    ) -> [String] {
        if rows.isEmpty { return [] }
        assert(rows.allSatisfy { $0.cells.count == head.count }, "a row of the table has another number of cells than its head")
        var widths = head.indices.map { column in ([head] + rows.map(\.cells)).map { $0[column].count }.max()! }
        let rest = widths.dropFirst().prefix(2).reduce(0) { $0 + $1 + 2 }
        widths[0] = max(min(widths[0], width - rest), min(widths[0], head[0].count))
        func line(_ cells: [String]) -> String {
            let name = shortened(cells[0], widths[0])
            var text = name + String(repeating: " ", count: widths[0] - name.count)
            for (cell, width) in zip(cells, widths).dropFirst() {
                guard text.count + 2 + width <= self.width else { break }
                text += String(repeating: " ", count: 2 + width - cell.count) + cell
            }
            return cut(text)
        }
        return ["", style.faint(line(head))] + rows.map { isWell($0.row) ? line($0.cells) : style.bad(line($0.cells)) }
    }

    private func cut(_ text: String) -> String { shortened(text, width) }

    private func shortened(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : String(text.prefix(max(0, width - 1))) + "…"
    }
}

extension JSONValue {
    fileprivate func number(_ member: String) -> Double {
        if case .number(let text)? = self[member] { Double(text) ?? 0 } else { 0 }
    }

    fileprivate func string(_ member: String) -> String { if case .string(let text)? = self[member] { text } else { "" } }

    fileprivate var numbers: [Double]? {
        guard case .list(let items) = self else { return nil }
        return items.map { if case .number(let text) = $0 { Double(text) ?? 0 } else { 0 } }
    }
}
