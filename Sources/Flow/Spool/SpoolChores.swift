// What a person may do to a spool by its provider's name, while no router has the folder: give it to another provider, or destroy it.

internal import Admission
internal import Database
public import Platform

/// What came of giving the spool of one provider to another.
public struct SpoolMove: Sendable {
    /// How many events were moved.
    public var events = 0
    /// What of either spool turned out to be damaged, which neither has any more, in words.
    public var losses: [String] = []
    /// Why the old spool was not removed, in words; nil: it was.
    public var left: String?
}

extension StateFolder {
    /// Gives what waits for one provider to another. Where the other has events already, these go behind them, and a crash in between leaves
    /// each event in one of the two at least. The old spool is removed unless batches that are damaged are kept in it.
    public func moveSpool(of old: String, to new: String, options: SpoolFile.Options, say: @escaping @Sendable (String) -> Void)
        throws(SpoolFault) -> SpoolMove
    {
        let names = RunNames()
        let from = StateFolder.spool(of: old, in: path)
        try checkSpool(of: old)
        let source = try SpoolFile(path: from, names: names, options: options, say: say)
        var isClosed = false
        defer { if !isClosed { source.close() } }
        let target = try SpoolFile(path: StateFolder.spool(of: new, in: path), names: names, options: options, say: say)
        defer { target.close() }
        var move = SpoolMove()
        var row: Int64 = 0
        while true {
            let rows = try source.read(after: row, most: 4 << 20)
            guard let last = rows.last else { break }
            var work = SpoolWork()
            var next = target.lastRow
            for row in rows {
                next += 1
                work.insert.append((next, row.batch))
                move.events += row.batch.count
            }
            try target.commit(work)
            var done = SpoolWork()
            done.remove = rows.map(\.id)
            try source.commit(done)
            row = last.id
        }
        move.losses = [source.takeLoss(), target.takeLoss()].compactMap { $0?.words }
        // What a person may still look into stays where it is, also what an earlier run has put there.
        let kept = try source.database.number("SELECT count(*) FROM damaged") ?? 0
        source.close()
        isClosed = true
        guard kept > 0 else {
            try ProvenFile.destroy(from)
            SettledFile.remove(SettledFile.path(beside: from))
            return move
        }
        move.left = "\(from): is not removed, since \(grouped(Int(kept))) batches that are damaged are kept in its table 'damaged'"
        return move
    }

    /// Destroys the spool of a provider, and every event in it, also one of which only the witness is left.
    public func destroySpool(of provider: String) throws(SpoolFault) {
        try checkSpool(of: provider)
        let file = StateFolder.spool(of: provider, in: path)
        try ProvenFile.destroy(file)
        SettledFile.remove(SettledFile.path(beside: file))
    }

    /// That there is one, whatever its state.
    public func checkSpool(of provider: String) throws(SpoolFault) {
        guard ProvenFile.isAnywhere(StateFolder.spool(of: provider, in: path)) else {
            throw SpoolFault(.failed, "there is no spool of '\(printable(provider))' in \(printable(path))")
        }
    }
}
