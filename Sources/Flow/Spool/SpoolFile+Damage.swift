// Handles damage to a spool file: keeps the damaged data for a person, counts what is lost, and continues with the rest.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform
internal import StateFiles

extension SpoolFile {
    /// Runs the body. If the file turns out to be damaged, rebuilds it and runs the body once more.
    func mended<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        try rebuildIfDamaged()
        do throws(StorageFault) {
            return try body()
        } catch {
            guard error.kind == .damaged else { throw error }
            try repair(error)
            return try body()
        }
    }

    /// Sets the damaged file aside and copies what can be read of it into a new file.
    func repair(_ fault: StorageFault) throws(StorageFault) {
        giveUp(fault)
        try rebuildIfDamaged()
    }

    private func giveUp(_ fault: StorageFault) {
        assert(damage == nil && fault.kind == .damaged, "the file is already closed, or is not damaged")
        var found = Damage(fault.description)
        found.proof = file.proof
        database.closeKeepingLog()
        damage = found
    }

    /// Finishes a rebuild or a renewal that failed before, for example because the disk was full. This comes before any other work. Then
    /// reads the names beside the rows, since without them each row would look damaged.
    func rebuildIfDamaged() throws(StorageFault) {
        if isRenewing { try renew() }
        if let damage {
            let new = try SpoolRebuild.rebuild(path, options: options, damage: damage, reader: reader, say: say)
            self.damage = nil
            file = new.file
            isKnown = false
            noteAnew()
            if let loss = new.loss { lose(loss) }
        }
        guard !isKnown else { return }
        do throws(StorageFault) {
            try readAbout()
            isKnown = true
        } catch {
            if error.kind == .damaged { giveUp(error) }
            throw error
        }
    }

    /// Moves damaged rows into the table `damaged`, where a person can inspect them.
    func setAside(_ rows: [Int64]) throws(StorageFault) {
        assert(!rows.isEmpty, "no row is damaged")
        let before = file.proof
        try transaction { () throws(StorageFault) in
            for row in rows {
                try database.statement(
                    "INSERT OR REPLACE INTO damaged SELECT id, events, sealed, entries, payload FROM batches WHERE id = ?1"
                ).bind(1, row).run()
                try database.statement("DELETE FROM batches WHERE id = ?1").bind(1, row).run()
                guard database.changes == 1 else { throw StorageFault(.damaged, "\(path): row \(row) cannot be found by its number") }
                try database.statement("DELETE FROM tries WHERE id = ?1").bind(1, row).run()
            }
            try correctSums()
        }
        note(lossSince: before)
    }

    /// Sets the sums to those of the rows that the file still has.
    private func correctSums() throws(StorageFault) {
        let there = try sums()
        for count in file.proof.counts {
            let sum = there[count.key] ?? Sum()
            file.proof[count.key].gone = count.came - Int64(sum.events)
            file.proof[count.key].bytes = Int64(sum.bytes)
        }
        for (key, sum) in there where !file.proof.counts.contains(where: { $0.key == key }) {
            file.proof[key].came = Int64(sum.events)
            file.proof[key].bytes = Int64(sum.bytes)
        }
    }

    struct Sum: Equatable {
        var events = 0
        var bytes = 0
    }

    /// Returns the sums that the rows themselves record, by key of the proof.
    private func sums() throws(StorageFault) -> [UInt64: Sum] {
        var sums: [UInt64: Sum] = [:]
        var last: Int64 = .min
        let all = try database.statement("SELECT id, routes FROM batches")
        defer { all.reset() }
        while try all.step() {
            // A lookup by number would miss a row that is out of order.
            guard all.int(0) > last else { throw StorageFault(.damaged, "\(path): its batches are out of order") }
            last = all.int(0)
            for part in SpoolFile.parts(all.text(1)) {
                sums[routes.key(part.route), default: Sum()].events += part.events
                sums[routes.key(part.route), default: Sum()].bytes += part.bytes
            }
        }
        return sums
    }

    /// Throws `damaged` if the rows do not match the sums or are out of order. Then pages of the file are wrong, so it must be rebuilt
    /// before anything more is written to it.
    func verifySums() throws(StorageFault) {
        guard agree(try sums()) else { throw StorageFault(.damaged, "\(path): its batches do not match its sums") }
    }

    private func agree(_ there: [UInt64: Sum]) -> Bool {
        for count in file.proof.counts where Sum(events: Int(count.left), bytes: Int(count.bytes)) != there[count.key] ?? Sum() {
            return false
        }
        return there.keys.allSatisfy { key in file.proof.counts.contains { $0.key == key } }
    }

    private func note(lossSince before: Proof) {
        var found = SpoolLoss(routes: [:], bytes: 0, words: "")
        for count in before.counts {
            let lost = Int(count.left - file.proof[count.key].left)
            if lost > 0, let known = routes.run(ofKey: count.key) { found.routes[known, default: 0] += lost }
            found.bytes += max(0, Int(count.bytes - file.proof[count.key].bytes))
        }
        let lost = found.routes.values.reduce(0, +)
        guard lost > 0 else { return }
        found.words = "\(path): \(grouped(lost)) events are damaged; they are kept in its table 'damaged'"
        lose(found)
    }

    /// Adds a loss to what the next `takeLoss` returns.
    func lose(_ more: SpoolLoss) {
        guard let known = loss else {
            loss = more
            return
        }
        loss = SpoolLoss(
            routes: known.routes.merging(more.routes, uniquingKeysWith: +), bytes: known.bytes + more.bytes,
            words: known.words + "; " + more.words)
    }
}
