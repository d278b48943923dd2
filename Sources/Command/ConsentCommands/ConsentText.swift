// Renders what a ledger holds, as text for a person and as JSON. It never shows a raw id, since a ledger has none.

internal import ConsentGate
internal import Erasing
internal import Ledger
internal import Platform
internal import Terminal

extension LedgerEntry? {
    var text: String {
        guard let entry = self else { return "nothing is on record\n" }
        var rows: [(String, String)] = []
        if let record = entry.record {
            rows += [("decision", record.terms.text), ("when", "\(timestamp(record.decided)), by \(printable(record.origin))")]
        } else {
            rows.append(("decision", "nothing of its own"))
        }
        if !entry.ties.isEmpty {
            rows.append(("tied to", "\(grouped(entry.ties.count)) other\(entry.ties.count == 1 ? "" : "s")"))
            rows.append(("together", entry.effective.isEmpty ? "nothing" : entry.effective.map(\.text).joined(separator: "; and ")))
        }
        for (index, decision) in entry.history.enumerated() {
            let late = decision.held ? "" : " (came late, does not hold)"
            let record = decision.record
            rows.append((index == 0 ? "history" : "", "\(timestamp(record.decided))  \(record.terms.text)\(late)"))
        }
        return columns(rows)
    }

    var json: String {
        guard let entry = self else { return #"{"known":false}"# }
        var parts = ["\"known\":true", "\"key\":\(jsonQuoted(entry.id.key))", "\"record\":\(entry.record.map(\.json) ?? "null")"]
        parts.append("\"tied\":\(entry.ties.count)")
        parts.append("\"effective\":[\(entry.effective.map { "{\($0.members)}" }.joined(separator: ","))]")
        let history = entry.history.map { decision in
            let evidence = decision.evidence.map { ",\"evidence\":\($0.json)" } ?? ""
            return "{\(decision.record.members),\"held\":\(decision.held)\(evidence)}"
        }
        return "{\(parts.joined(separator: ",")),\"history\":[\(history.joined(separator: ","))]}"
    }
}

extension ConsentRecord {
    fileprivate var json: String { "{\(members)}" }

    fileprivate var members: String {
        let times = "\"decided\":\(jsonQuoted(timestamp(decided))),\"received\":\(jsonQuoted(timestamp(received)))"
        return "\(terms.members),\(times),\"origin\":\(jsonQuoted(origin))"
    }
}

extension ConsentTerms {
    fileprivate var text: String {
        if isWithdrawn { return "everything is withdrawn" }
        var parts: [String] = []
        if let level { parts.append("level \(printable(level))") }
        if !granted.isEmpty { parts.append("granted \(printable(granted.joined(separator: ", ")))") }
        if !denied.isEmpty { parts.append("denied \(printable(denied.joined(separator: ", ")))") }
        if let version { parts.append("version \(printable(version))") }
        return parts.isEmpty ? "nothing granted" : parts.joined(separator: ", ")
    }

    fileprivate var members: String {
        func list(_ names: [String]) -> String { "[\(names.map(jsonQuoted).joined(separator: ","))]" }
        let texts = "\"level\":\(level.map(jsonQuoted) ?? "null"),\"version\":\(version.map(jsonQuoted) ?? "null")"
        return "\"withdrawn\":\(isWithdrawn),\(texts),\"granted\":\(list(granted)),\"denied\":\(list(denied))"
    }
}

extension LedgerSummary {
    var text: String {
        var rows = [("ids", grouped(subjects)), ("tied", "\(grouped(tied)), of \(grouped(persons)) persons")]
        rows.append(("withdrawn", grouped(withdrawn)))
        for (level, count) in levels.sorted(by: { $0.key < $1.key }) {
            rows.append((level.isEmpty ? "no level" : "level \(printable(level))", grouped(count)))
        }
        for (key, count) in keys.sorted(by: { $0.key < $1.key }) { rows.append(("under key \(printable(key))", grouped(count))) }
        rows.append(("decisions", grouped(decisions)))
        if let lastReceived { rows.append(("last written", timestamp(lastReceived))) }
        return columns(rows)
    }

    var json: String {
        func table(_ counts: [String: Int]) -> String {
            "{\(counts.sorted { $0.key < $1.key }.map { "\(jsonQuoted($0.key)):\($0.value)" }.joined(separator: ","))}"
        }
        return "{\"ids\":\(subjects),\"tied\":\(tied),\"persons\":\(persons),\"withdrawn\":\(withdrawn),\"levels\":\(table(levels)),"
            + "\"keys\":\(table(keys)),\"decisions\":\(decisions),"
            + "\"last_written\":\(lastReceived.map { jsonQuoted(timestamp($0)) } ?? "null")}"
    }
}

extension [WithdrawalReceipt] {
    /// `erasures` has the jobs of each receipt, by its number.
    func text(_ erasures: [Int64: [ErasureJob]]) -> String {
        if isEmpty { return "nothing was withdrawn\n" }
        return map { receipt in
            let what = receipt.purposes.map { printable($0.joined(separator: ", ")) } ?? "everything"
            let end = receipt.finished.map { "all destroyed \(timestamp($0))" } ?? "not all destroyed yet"
            let lines = receipt.lines.map { line in
                let hands = line.inHands > 0 ? ", \(grouped(line.inHands)) were in flight to the provider" : ""
                return "  \(printable(line.place)): \(grouped(line.events)) events destroyed, \(grouped(line.bytes)) bytes\(hands)\n"
            }
            return "receipt \(receipt.number): \(what) withdrawn \(timestamp(receipt.begun)) by \(printable(receipt.origin)), \(end)\n"
                + lines.joined() + (erasures[receipt.number] ?? []).map { "  \($0.line)\n" }.joined()
        }.joined()
    }

    func json(_ erasures: [Int64: [ErasureJob]]) -> String {
        "[\(map { $0.json(erasures[$0.number] ?? []) }.joined(separator: ","))]"
    }
}

extension WithdrawalReceipt {
    func json(_ erasures: [ErasureJob]) -> String {
        let lines = lines.map { line in
            "{\"place\":\(jsonQuoted(line.place)),\"at\":\(jsonQuoted(timestamp(line.at))),\"events\":\(line.events),"
                + "\"bytes\":\(line.bytes),\"in_hands\":\(line.inHands)}"
        }
        let purposes = purposes.map { "[\($0.map(jsonQuoted).joined(separator: ","))]" } ?? "null"
        return "{\"receipt\":\(number),\"purposes\":\(purposes),\"origin\":\(jsonQuoted(origin)),"
            + "\"begun\":\(jsonQuoted(timestamp(begun))),"
            + "\"finished\":\(finished.map { jsonQuoted(timestamp($0)) } ?? "null"),\"places\":[\(lines.joined(separator: ","))],"
            + "\"erasures\":[\(erasures.map(\.json).joined(separator: ","))]}"
    }
}

/// The result of comparing the clock with the last write of a ledger.
struct LedgerClock: Sendable {
    var wasBehind: Bool
    var isBehind: Bool
    /// When the ledger was last written, in nanoseconds since 1970. It is 0 if it was never written.
    var lastWritten: Int64

    var text: String {
        if isBehind {
            return "the clock is behind: the newest record was written at \(timestamp(lastWritten)), so what needs consent is denied; "
                + "set the clock right, or run consent clock --believe if it is right\n"
        }
        return wasBehind ? "the clock is trusted: records from the future now count as made now\n" : "the clock is not behind\n"
    }

    var json: String {
        "{\"behind\":\(isBehind),\"was_behind\":\(wasBehind),\"last_written\":"
            + (lastWritten == 0 ? "null" : jsonQuoted(timestamp(lastWritten))) + "}"
    }
}
