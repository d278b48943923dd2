// The sections that the state of a router gives: consent by level and time, withdrawals with what is open, erasures, and damage.

internal import Ledger
internal import Platform

struct LedgerSections {
    let facts: ReportFacts
    let shown: (String) -> String

    var all: [ReportDocument.Section] { [consent, withdrawals, erasures, damage] }

    // MARK: - Consent

    private var consent: ReportDocument.Section {
        let summary = facts.summary
        var rows = summary.levels.sorted { $0.key < $1.key }.map { [$0.key.isEmpty ? "no level" : shown($0.key), grouped($0.value)] }
        rows.append(["everything withdrawn", grouped(summary.withdrawn)])
        let sentences = [
            "The ledger holds \(grouped(summary.subjects)) ids, of which \(grouped(summary.tied)) are tied to others as "
                + "\(grouped(summary.persons)) persons. It holds only hashes of ids."
        ]
        let months = facts.months.map {
            [$0.month, $0.isWithdrawn ? "withdrawn" : $0.level.isEmpty ? "no level" : shown($0.level), grouped($0.decisions)]
        }
        return .init(
            "consent", "Consent on record",
            [
                .init("Now", sentences, table: .init(["Level", "Ids"], rows)),
                .init(
                    "By month of the decision", facts.months.isEmpty ? ["No decision is on record."] : [],
                    table: .init(["Month", "Decision", "Decisions"], months)),
            ])
    }

    // MARK: - Withdrawals

    private var withdrawals: ReportDocument.Section {
        let all = facts.withdrawals
        var sentences = ["Withdrawals on record: \(grouped(all.count)). Not finished: \(grouped(all.open.count))."]
        if let median = all.median, let longest = all.longest {
            sentences.append(
                "The median time from a withdrawal until nothing of the person waited any more is \(elapsed(median)), and the longest is "
                    + "\(elapsed(longest)).")
        }
        let columns = ["Receipt", "Withdrawn", "What", "By", "Finished", "After", "Destroyed", "Then in flight"]
        sentences.append("In flight are events that a provider had in its hands when the withdrawal was acknowledged.")
        var parts = [ReportDocument.Part("", sentences)]
        parts.append(
            .init("Not finished", all.open.isEmpty ? ["Nothing is open."] : [], table: .init(columns, all.open.map(row))))
        if !all.latest.isEmpty {
            let note = all.count - all.open.count > all.latest.count ? ["Only the latest \(grouped(all.latest.count)) are listed."] : []
            parts.append(.init("Finished", note, table: .init(columns, all.latest.map(row))))
        }
        return .init("withdrawals", "Withdrawals", parts)
    }

    private func row(_ receipt: WithdrawalReceipt) -> [String] {
        let destroyed = receipt.lines.filter { $0.events > 0 }.map { "\(grouped($0.events)) in \(shown($0.place))" }
        let inHands = receipt.lines.filter { $0.inHands > 0 }.map { "\(grouped($0.inHands)) from \(shown($0.place))" }
        return [
            String(receipt.number), moment(receipt.begun),
            receipt.purposes.map { $0.map(shown).joined(separator: ", ") } ?? "everything", shown(receipt.origin),
            receipt.finished.map { moment($0) } ?? "not yet", receipt.finished.map { elapsed($0 - receipt.begun) } ?? "open",
            destroyed.isEmpty ? "nothing waited" : destroyed.joined(separator: "; "),
            inHands.isEmpty ? "nothing" : inHands.joined(separator: "; "),
        ]
    }

    // MARK: - Erasures

    private var erasures: ReportDocument.Section {
        let rows = facts.erasures.map { [shown($0.provider), moment($0.asked), shown($0.state)] }
        return .init(
            "erasures", "Erasures at providers that are open",
            [.init("", rows.isEmpty ? ["No erasure is open."] : [], table: .init(["Provider", "Asked", "State"], rows))])
    }

    // MARK: - Damage

    private var damage: ReportDocument.Section {
        let sentences =
            facts.damaged.isEmpty
            ? ["No damaged file is set aside in the state folder."]
            : ["These files were set aside as damaged. They may hold events. The next withdrawal destroys them."]
        return .init(
            "damage", "Damage",
            [.init("", sentences, table: .init(["File", "Bytes"], facts.damaged.map { [$0.name, grouped($0.bytes)] }))])
    }
}

/// Returns a time to the second, for people: `2026-11-21 10:30:00 UTC`.
func moment(_ nanoseconds: Int64) -> String {
    let text = timestamp(nanoseconds)
    assert(text.utf8.count >= 20, "a time has no seconds")
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
}

/// Returns a time that passed, in words: `0.250 s`, `3 min 5 s`, `2 h 4 min`, `3 d 1 h`.
func elapsed(_ nanoseconds: Int64) -> String {
    let milliseconds = max(0, nanoseconds) / 1_000_000
    let seconds = milliseconds / 1000
    switch seconds {
    case ..<60:
        let fraction = String(milliseconds % 1000)
        return "\(seconds).\(String(repeating: "0", count: 3 - fraction.utf8.count))\(fraction) s"
    case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
    case ..<86_400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    default: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    }
}
