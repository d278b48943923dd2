import Admission
import Platform
import StateFiles
import StoreFixtures

@testable import Spool

extension SpoolWork {
    static func insert(_ rows: (Int64, [String])...) -> SpoolWork {
        var work = SpoolWork()
        work.insert = rows.map { ($0.0, batch($0.1)) }
        return work
    }
    static func remove(_ rows: Int64...) -> SpoolWork {
        var work = SpoolWork()
        work.remove = rows
        return work
    }
}

extension SpoolFile {
    /// Returns everything that can be read, as `id: events`.
    func all() throws(StorageFault) -> [String] {
        var rows: [String] = []
        var at: Int64 = 0
        while true {
            let more = try read(after: at, most: 100)
            guard let last = more.last else { return rows }
            rows += more.map { "\($0.id): " + texts($0.batch).joined(separator: " ") }
            at = last.id
        }
    }
}

func spool(
    _ folder: Folder, vfs: String? = nil, synced: Bool = false, key: String? = nil, names: RunNames = RunNames(["a", "b"]),
    levels: RunNames = RunNames(),
    said: Monitor<[String]> = Monitor([])
)
    throws(StorageFault) -> SpoolFile
{
    var options = SpoolFile.Options()
    options.vfs = vfs
    options.isSynced = synced
    options.levels = levels
    options.clock = hour
    options.cipher = key.map { Cipher(secret($0)) }
    return try SpoolFile(path: folder.path + "/spool-x.sqlite", names: names, options: options) { line in said.withLock { $0.append(line) }
    }
}
