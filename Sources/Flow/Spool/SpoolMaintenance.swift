// Commands for a person on the spool of a named provider: move its events to another provider, or destroy it. They need a locked
// `StateFolder`, so no router uses the folder meanwhile.

internal import Admission
internal import Database
public import Platform
public import StateFiles

/// The result of moving the events of one provider to another.
public struct SpoolMove: Sendable {
    /// The number of events that were moved.
    public var events = 0
    /// Messages about events of either spool that turned out to be damaged. Neither spool has these events any more.
    public var losses: [String] = []
    /// A message that says why the old spool was not removed. It is nil if it was removed.
    public var left: String?
}

extension StateFolder {
    /// Moves the events that wait for one provider to another, after any events that wait there already. After a crash in between, each
    /// event is in at least one of the two spools. Removes the old spool, unless damaged batches are kept in it.
    public func moveSpool(of old: String, to new: String, options: SpoolFile.Options, say: @escaping @Sendable (String) -> Void)
        throws(StorageFault) -> SpoolMove
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
            assert(rows.allSatisfy { $0.id > row }, "a row is moved twice")
            try target.commit(work)
            assert(target.lastRow == next, "a moved row has another number than it was given")
            var done = SpoolWork()
            done.remove = rows.map(\.id)
            try source.commit(done)
            row = last.id
        }
        move.losses = [source.takeLoss(), target.takeLoss()].compactMap { $0?.words }
        // Damaged batches stay in the old file for a person to inspect, including those that an earlier run has found.
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

    /// Destroys the spool of a provider with every event in it. This also works if only the witness is left.
    public func destroySpool(of provider: String) throws(StorageFault) {
        try checkSpool(of: provider)
        let file = StateFolder.spool(of: provider, in: path)
        try ProvenFile.destroy(file)
        SettledFile.remove(SettledFile.path(beside: file))
    }

    /// Throws if the provider has no spool. A damaged spool counts as one.
    public func checkSpool(of provider: String) throws(StorageFault) {
        guard ProvenFile.isAnywhere(StateFolder.spool(of: provider, in: path)) else {
            throw StorageFault(.failed, "there is no spool of '\(printable(provider))' in \(printable(path))")
        }
    }
}
