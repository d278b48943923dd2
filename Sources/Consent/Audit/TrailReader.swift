// Reads a trail: its signed head, its entries, and the hashes of its tree. It changes nothing and takes no lock, so it works beside a router
// that writes: everything before the head that it has read stays as it is.

internal import Glibc
public import MerkleLog
public import Platform

public final class TrailReader: TreeNodes {
    public let files: TrailFiles
    /// The head with its signatures.
    public let note: SignedNote
    public let head: Checkpoint
    private var tiles: [String: [Digest]] = [:]
    private var bundle: (index: Int, bytes: [UInt8])?

    /// The most tiles that are kept in memory.
    private static let mostTiles = 600
    /// The most bytes of a bundle.
    static let mostBundleBytes = Tiles.width * (Tiles.mostEntryBytes + 2)

    /// Reads the head. Returns nil if there is no trail. A head that none of the keys has signed is a fault.
    public init?(_ files: TrailFiles, keys: [NoteKey]) throws(StorageFault) {
        self.files = files
        guard let bytes = try TrailFiles.read(files.checkpoint, most: SignedNote.largest) else { return nil }
        (note, head) = try TrailReader.head(bytes, keys: keys, files.checkpoint)
    }

    /// Checks a head. `path` is its place, for the message.
    public static func head(_ bytes: [UInt8], keys: [NoteKey], _ path: String) throws(StorageFault) -> (SignedNote, Checkpoint) {
        guard let note = SignedNote(bytes), let head = Checkpoint(text: note.text) else {
            throw StorageFault(.damaged, "\(path): is not the signed head of a log")
        }
        let standings = keys.map { note.standing($0) }
        guard !standings.contains(.forged) else { throw StorageFault(.damaged, "\(path): its signature does not fit its text") }
        guard standings.contains(.signed) else {
            throw StorageFault(.foreign, "\(path): is not signed with the key of the audit trail '\(printable(keys.first?.name ?? ""))'")
        }
        guard keys.contains(where: { $0.name == head.origin }) else {
            throw StorageFault(.foreign, "\(path): is the head of another log, '\(printable(head.origin))'")
        }
        return (note, head)
    }

    // MARK: - Entries

    /// The entries of a bundle. `count` is their number in the tree.
    func readBundle(_ index: Int) throws(StorageFault) -> [UInt8]? {
        if let bundle, bundle.index == index { return bundle.bytes }
        // A bundle that became full is renamed. It has the other name if it was renamed since the first look.
        for path in [files.tail(index), files.bundle(index), files.tail(index)] {
            guard let bytes = try TrailFiles.read(path, most: TrailReader.mostBundleBytes) else { continue }
            bundle = (index, bytes)
            return bytes
        }
        return nil
    }

    /// Returns an entry. Returns nil if its bundle was pruned. An entry that does not fit its hash is a fault.
    public func entry(_ index: Int) throws(StorageFault) -> [UInt8]? {
        precondition((0..<head.size).contains(index), "the trail has no such entry")
        guard let bytes = try readBundle(index / Tiles.width) else { return nil }
        let place = index % Tiles.width
        let entry: [UInt8]? = bytes.withUnsafeBytes { bytes in
            let places = Tiles.entries(bytes, most: place + 1)
            return places.count > place ? Array(bytes[places[place]]) : nil
        }
        guard let entry, Digest.leaf(entry) == (try node(height: 0, index: index)) else {
            throw StorageFault(.damaged, "\(files.bundle(index / Tiles.width)): entry \(index) does not fit its hash")
        }
        return entry
    }

    // MARK: - Hashes

    public func node(height: Int, index: Int) throws(StorageFault) -> Digest {
        let level = height / Tiles.height
        let span = 1 << (height % Tiles.height)
        var frontier = Frontier()
        for at in index * span..<(index + 1) * span { frontier.append(try hash(level: level, at)) }
        return frontier.root
    }

    /// Returns a hash of a tile. A hash of a partial tile is computed from the level below.
    private func hash(level: Int, _ index: Int) throws(StorageFault) -> Digest {
        let tile = index / Tiles.width
        if tile < Tiles.fullCount(level: level, size: head.size), let hashes = try readTile(level, tile) {
            return hashes[index % Tiles.width]
        }
        guard level > 0 else { return try tailHashes(of: tile)[index % Tiles.width] }
        return Frontier.root(
            of: try (0..<Tiles.width).map { (at) throws(StorageFault) in try hash(level: level - 1, index * Tiles.width + at) })
    }

    /// Returns the hashes of a full tile. Returns nil if it is not in its place yet.
    func readTile(_ level: Int, _ index: Int) throws(StorageFault) -> [Digest]? {
        let path = files.tile(level, index)
        if let known = tiles[path] { return known }
        guard let bytes = try TrailFiles.read(path, most: Tiles.width * Digest.size) else { return nil }
        guard let hashes = Tiles.hashes(bytes, count: Tiles.width) else { throw StorageFault(.damaged, "\(path): has not 256 hashes") }
        keep(hashes, path)
        return hashes
    }

    private func keep(_ hashes: [Digest], _ path: String) {
        if tiles.count >= TrailReader.mostTiles { tiles.removeAll(keepingCapacity: true) }
        tiles[path] = hashes
    }

    /// Returns the hashes of the entries of a bundle that has no tile.
    private func tailHashes(of index: Int) throws(StorageFault) -> [Digest] {
        let path = files.tail(index)
        if let known = tiles[path] { return known }
        let wanted = min(Tiles.width, head.size - index * Tiles.width)
        guard let bytes = try readBundle(index) else { throw StorageFault(.damaged, "\(path): is missing") }
        let hashes = bytes.withUnsafeBytes { bytes in
            Tiles.entries(bytes, most: wanted).map { Digest.leaf(UnsafeRawBufferPointer(rebasing: bytes[$0])) }
        }
        guard hashes.count == wanted else { throw StorageFault(.damaged, "\(path): has \(hashes.count) entries, not \(wanted)") }
        keep(hashes, path)
        return hashes
    }
}
