// Writes a trail as a static log after C2SP tlog-tiles, which any web server can serve: the head, all tiles, and the bundles of entries, the
// last ones of them partial.

internal import Glibc
internal import MerkleLog
public import Platform

extension TrailReader {
    /// Writes the log into a new or empty folder. Returns the number of files.
    public func export(to folder: String) throws(StorageFault) -> Int {
        guard TrailFiles.names(in: folder).isEmpty else { throw StorageFault(.failed, "\(folder): is not empty") }
        var count = 0
        func put(_ path: String, _ bytes: [UInt8]) throws(StorageFault) {
            let path = folder + "/" + path
            try TrailFiles.makeFolder(of: path)
            try TrailFiles.replace(path, with: bytes, syncs: false)
            count += 1
        }
        var level = 0
        repeat {
            let full = Tiles.fullCount(level: level, size: head.size)
            let hashes = { (range: Range<Int>) throws(StorageFault) -> [UInt8] in
                Tiles.bytes(try range.map { (at) throws(StorageFault) in try self.node(height: Tiles.height * level, index: at) })
            }
            for tile in 0..<full {
                try put(Tiles.path(level: level, index: tile), try hashes(tile * Tiles.width..<(tile + 1) * Tiles.width))
            }
            let width = Tiles.partialWidth(level: level, size: head.size)
            if width > 0 {
                try put(Tiles.path(level: level, index: full, width: width), try hashes(full * Tiles.width..<full * Tiles.width + width))
            }
            level += 1
        } while head.size >> (Tiles.height * level) > 0
        for bundle in 0..<(head.size + Tiles.width - 1) / Tiles.width {
            guard let bytes = try readBundle(bundle) else { continue }
            let wanted = min(Tiles.width, head.size - bundle * Tiles.width)
            let end = bytes.withUnsafeBytes { Tiles.entries($0, most: wanted).last?.upperBound ?? 0 }
            let path =
                wanted == Tiles.width
                ? Tiles.path(level: nil, index: bundle) : Tiles.path(level: nil, index: bundle, width: wanted)
            try put(path, Array(bytes[..<end]))
        }
        // The head comes last: whoever reads it finds everything that it counts.
        try put("checkpoint", note.bytes)
        return count
    }
}
