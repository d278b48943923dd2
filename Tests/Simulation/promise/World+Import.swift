// Imports of a ledger: lines with decisions, withdrawals and ties, written in several transactions. A line that withdraws is a withdrawal
// like that of the command: with a receipt, and acknowledged when the import is. The same line again needs no second receipt.

import Platform

@testable import ConsentGate
@testable import Delivery
@testable import Ledger
@testable import Withdrawal

/// One line of an import.
struct ImportLine {
    var id: String
    /// It is nil if the line only ties the id.
    var record: LedgerRecord?
    var decided: Int64
    var person: String?

    var text: String {
        func list(_ names: Set<String>) -> String { "[\(names.sorted().map { "\"\($0)\"" }.joined(separator: ","))]" }
        var text = "{\"id\":\"\(id)\""
        if let person { text += ",\"person\":\"\(person)\"" }
        if let record {
            text += ",\"decided\":\"\(Statement.text(of: decided))\""
            if record.isWithdrawn { return text + ",\"withdrawn\":true}\n" }
            if let level = record.level { text += ",\"level\":\"\(Words.levels[level])\"" }
            text += ",\"granted\":\(list(record.named)),\"denied\":\(list(record.denied))"
        }
        return text + "}\n"
    }
}

extension World {
    /// Imports some lines, or the lines of the last import once more.
    func importLines() throws {
        if lastImport.isEmpty || roll(3) > 0 { lastImport = (0..<1 + roll(5)).map { _ in importLine() } }
        let lines = lastImport
        tell("import \(lines.map(\.text))")
        var options = LedgerImport.Options()
        options.batch = 1 + roll(4)
        let batch = options.batch
        let bytes = Array(lines.map(\.text).joined().utf8)
        let base = hands.wall
        let (receipts, bad) = try life.registry.use { [registry = life.registry, options] (file) throws(StorageFault) in
            var receipts: [Int64] = []
            var bad: [String] = []
            let work = LedgerImport(
                into: file, options, bad: { bad.append("\($0): \($1)") }, changed: { registry.publish($0) }, withdrew: { receipts += $0 })
            try bytes.withUnsafeBufferPointer { (bytes) throws(StorageFault) in try work.take(UnsafeRawBufferPointer(bytes)) }
            try work.finish()
            return ((receipts, bad), [])
        }
        try require(bad.isEmpty, "an import refuses \(bad)")
        // Each transaction has a time of its own if the clock stands still.
        now += Int64(lines.count / batch) + 2
        try hear(lines, receipts, base)
        noteRefusals()
        // Without a router, the next start carries the withdrawals out.
        guard life.hasBegun else { return }
        if !receipts.isEmpty, dies(in: 6) { return try die() }
        for receipt in receipts { beginDestruction(receipt) }
        try noteInHands(receipts)
    }

    private func importLine() -> ImportLine {
        // Times are whole milliseconds, as in an export of another product.
        let decided = (hands.wall - (roll(3) == 0 ? 0 : Int64(roll(5_000_000_000)))) / World.millisecond * World.millisecond
        var line = ImportLine(id: Words.people[roll(UInt64(Words.people.count))], decided: decided)
        switch roll(8) {
        case 0..<3: line.record = .withdrawn(at: decided)
        case 3..<7:
            let granted = Set(Words.purposes.filter { _ in roll(2) == 0 })
            line.record = .terms(
                level: roll(3) == 0 ? nil : roll(4), granted: granted, denied: roll(4) == 0 ? [Words.purposes[roll(3)]] : [], at: decided)
        default: break
        }
        if line.record == nil || roll(5) == 0 { line.person = "p\(roll(2))" }
        return line
    }

    /// Lets the promise hear the lines, and requires a receipt for each withdrawal that is not on record with one.
    private func hear(_ lines: [ImportLine], _ receipts: [Int64], _ now: Int64) throws {
        if plant != .imports { try life.steps.ban(receipts) }
        var left = receipts[...]
        var first: [String: String] = [:]
        for line in lines {
            if let record = line.record {
                let old = promise.said[line.id]
                promise.set(line.id, record)
                let holds = old.map { $0.decided <= record.decided } ?? true
                if record.isWithdrawn, holds, !isWithdrawn(line.id, old, at: record.decided) {
                    guard let receipt = left.popFirst() else {
                        throw Breach(words: "the import withdraws \(line.id), and it has no receipt for that: \(receipts)")
                    }
                    if plant == .forgets { try life.banLanes(receipt) }
                    let begun = try life.registry.use { (file) throws(StorageFault) in
                        (try file.receipts(after: receipt - 1, most: 1).first?.begun ?? 0, [])
                    }
                    written.append(
                        Withdrawal(receipt: receipt, person: promise.person(line.id), purposes: nil, time: begun, isAcknowledged: true))
                    receipted[line.id] = record.decided
                    heed(written[written.count - 1])
                }
            }
            guard let person = line.person else { continue }
            if let other = first[person] { promise.tie([other, line.id]) } else { first[person] = line.id }
        }
        try require(left.isEmpty, "the receipts \(left) of an import are for no withdrawal")
    }

    /// True if the id has withdrawn everything with this decision, and a receipt is on record for it.
    private func isWithdrawn(_ id: String, _ old: LedgerRecord?, at time: Int64) -> Bool {
        guard let old, old.isWithdrawn, old.decided == time else { return false }
        return receipted[id] == time
    }
}
