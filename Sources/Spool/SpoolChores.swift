// What a person may do to a spool by its provider's name, while no router has the folder: give it to another provider, or destroy it.

internal import Database
public import Platform
internal import Policy

extension StateFolder {
    /// Gives what waits for one provider to another; how many events. Where the other has events already, these go behind them, and a
    /// crash in between leaves each event in one of the two at least.
    public func moveSpool(of old: String, to new: String, options: SpoolFile.Options, say: @escaping @Sendable (String) -> Void)
        throws(SpoolFault) -> Int
    {
        let names = RunNames()
        let from = StateFolder.spool(of: old, in: path)
        try checkSpool(of: old)
        let source = try SpoolFile(path: from, names: names, options: options, say: say)
        let target = try SpoolFile(path: StateFolder.spool(of: new, in: path), names: names, options: options, say: say)
        defer { target.close() }
        var moved = 0
        var row: Int64 = 0
        while true {
            let rows = try source.read(after: row, most: 4 << 20)
            guard let last = rows.last else { break }
            var work = SpoolWork()
            var next = target.lastRow
            for row in rows {
                next += 1
                work.insert.append((next, row.batch))
                moved += row.batch.count
            }
            try target.commit(work)
            var done = SpoolWork()
            done.remove = rows.map(\.id)
            try source.commit(done)
            row = last.id
        }
        // What could not be read stays where it is.
        let left = source.takeLoss()
        source.close()
        if left == nil { try ProvenFile.destroy(from) }
        return moved
    }

    /// Destroys the spool of a provider, and every event in it, also one of which only the witness is left.
    public func destroySpool(of provider: String) throws(SpoolFault) {
        try checkSpool(of: provider)
        try ProvenFile.destroy(StateFolder.spool(of: provider, in: path))
    }

    /// That there is one, whatever its state.
    public func checkSpool(of provider: String) throws(SpoolFault) {
        guard ProvenFile.isAnywhere(StateFolder.spool(of: provider, in: path)) else {
            throw SpoolFault(.failed, "there is no spool of '\(printable(provider))' in \(printable(path))")
        }
    }
}
