// Damage to the ledger between two lives: one flipped bit in the file or in its log. Either the next start refuses the file, or it has
// everything that was acknowledged. A refused file is put back as it was, as from a copy.

import Platform

@testable import ConsentGate
@testable import Ledger

extension World {
    func damageLedger(in folder: Folder) throws {
        let saved = folder.files.filter { $0.hasPrefix("ledger") }.map { ($0, Folder.contents(of: folder.path + "/" + $0)) }
        let name = LedgerFile.name + (roll(2) == 0 ? "" : "-wal")
        var bytes = Folder.contents(of: folder.path + "/" + name)
        guard !bytes.isEmpty else { return }
        let place = roll(UInt64(bytes.count))
        bytes[place] ^= 1 << UInt8(roll(8))
        folder.write(name, bytes)
        let path = folder.path + "/" + LedgerFile.name
        do throws(StorageFault) {
            guard let file = try LedgerFile(path, makes: false, options: Life.ledgerOptions(hands)) else {
                throw StorageFault(.damaged, "the file is not there")
            }
            let lacks = try lacking(file)
            file.close()
            tell("byte \(place) of \(name) is changed, and the ledger is whole")
            if let lacks { throw StorageFault(.failed, lacks) }
        } catch {
            try require(error.kind == .damaged, "byte \(place) of \(name) was changed: \(error)")
            tell("byte \(place) of \(name) is changed, and refused: \(error)")
            for file in folder.files where file.hasPrefix("ledger") { _ = folder.take(file) }
            // With this planted bug, the next life begins with nothing on record.
            if plant == .damage { return }
            for (name, bytes) in saved { folder.write(name, bytes) }
        }
    }

    /// Returns what the ledger has forgotten or made up. Returns nil if it has all that the promise has heard.
    private func lacking(_ file: LedgerFile) throws(StorageFault) -> String? {
        for id in Words.people {
            let found = try file.lastDecision(of: LedgerID(id))?.terms
            let record = promise.said[id]
            let wanted = record.map { record in
                record.isWithdrawn
                    ? ConsentTerms.withdrawn
                    : ConsentTerms(
                        level: record.level.map { Words.levels[$0] }, granted: Array(record.named), denied: Array(record.denied))
            }
            if found != wanted { return "the ledger says \(found as Any) of \(id), expected \(wanted as Any)" }
            if try max(1, file.person(of: LedgerID(id)).count) != promise.person(id).count {
                return "the ledger has lost the ties of \(id)"
            }
        }
        let receipts = try Set(file.receipts(after: 0, most: 10_000).map(\.number))
        let lost = written.map(\.receipt).filter { $0 > 0 && !receipts.contains($0) }
        return lost.isEmpty ? nil : "the ledger has lost the receipts \(lost)"
    }
}
