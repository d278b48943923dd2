// Plans from texts of routes.json, with one module, and facts as a ledger would give them.

import Configuration
import Document
import Plans
import Platform
import TestSupport

@testable import Ledger
@testable import Reporting

private struct OneModule: ModuleCatalog {
    var names: [String] { ["file"] }

    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        module == "file" ? try ModuleDescription.read(json: #"{"name":"file","version":"1","settings":{"type":"object"}}"#) : nil
    }
}

let secret = "s3cr3t-of-sixteen-bytes-and-more"

func plan(_ text: String) throws(ConfigurationFaults) -> Plan {
    try RoutesFile(
        environment: { $0 == "SECRET" ? secret : nil }, contents: { _ in .failure(PlaceholderFault("No such file")) }, catalog: OneModule()
    ).read(Array(text.utf8), file: "routes.json")
}

/// A plan with everything that a report names.
let whole = """
    { "keys": { "ids": "${env:SECRET}", "record": "0123456789abcdef0123456789abcdef" },
      "consent": { "levels": { "none": [], "essential": ["operations"], "standard": ["operations", "analytics"] },
                   "subject": ["userId"], "unknown": { "assume": "none" }, "default": "standard", "gpc": ["analytics"], "ledger": "record",
                   "fields": { "traits.plan": "standard" }, "events": { "pay_*": "standard" } },
      "providers": { "archive": { "plugin": "file" }, "lake": { "plugin": "file", "transform": [ { "limit": { "properties.note": 20 } } ] },
                     "idle": { "plugin": "file" } },
      "routes": [
        { "name": "product", "events": ["item_*", "pay_*"], "match": { "type": "track" },
          "transform": [ { "drop": ["context.ip"] }, { "hash": { "fields": ["userId"], "key": "ids", "length": 16 } },
                         { "round": { "timestamp": "hour" } }, { "scrub": { "find": ["email"], "in": ["properties"] } } ],
          "to": ["archive", "lake"] },
        { "name": "errors", "events": ["error_*"], "consent": "essential", "sample": { "rate": 0.5 }, "retention": "7d",
          "transform": [ { "keep": ["event", "properties.code"] } ], "to": ["archive"] } ] }
    """

/// A time of 2026-11-21 in nanoseconds, so many seconds after 10:00.
func time(_ seconds: Double) -> Int64 { 1_795_255_200_000_000_000 + Int64(seconds * 1e9) }

func receipt(
    _ number: Int64, begun: Double, finished: Double?, purposes: [String]? = nil, origin: String = "command",
    lines: [WithdrawalReceipt.Line] = []
) -> WithdrawalReceipt {
    WithdrawalReceipt(
        number: number, hmac: [], key: "ids", subjects: [], purposes: purposes, origin: origin, begun: time(begun),
        finished: finished.map(time), lines: lines)
}

var facts: ReportFacts {
    var summary = LedgerSummary()
    (summary.subjects, summary.tied, summary.persons, summary.withdrawn) = (1234, 4, 2, 3)
    summary.levels = ["standard": 1200, "essential": 31]
    var withdrawals = WithdrawalFacts()
    withdrawals.add(
        receipt(1, begun: 0, finished: 0.25, lines: [.init(place: "queue of archive", at: time(0.2), events: 1200, bytes: 5, inHands: 0)]))
    withdrawals.add(receipt(2, begun: 60, finished: 245, purposes: ["analytics"]))
    withdrawals.add(
        receipt(3, begun: 300, finished: nil, lines: [.init(place: "queue of lake", at: time(301), events: 0, bytes: 0, inHands: 8)]))
    return ReportFacts(
        summary: summary,
        months: [
            ConsentMonth(month: "2026-10", isWithdrawn: false, level: "standard", decisions: 1100),
            ConsentMonth(month: "2026-11", isWithdrawn: true, level: "", decisions: 3),
        ], withdrawals: withdrawals, erasures: [.init(provider: "lake", asked: time(10), state: "asked 2 times, no answer")],
        damaged: [.init(name: "spool-lake.sqlite.damaged-1795255200", bytes: 8192)])
}

func report(_ text: String = whole, _ facts: ReportFacts? = facts) throws -> ReportDocument {
    Report.document(try plan(text), facts, now: time(400))
}
