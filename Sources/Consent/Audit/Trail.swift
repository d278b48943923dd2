// Writes a trail. An append is one step for everyone who reads: its entries count when a signed head counts them, and the head is written last.
// After a kill or a loss of power in between, the entries behind the head are cut off by the next writer: nobody was told that they are
// there, and nobody but the holder of the key can add entries by writing behind the head. Several processes may write; each takes the lock of
// the folder and looks whether another one has written.

internal import Glibc
public import MerkleLog
public import Platform

/// Only one thread may use it at a time.
public final class Trail {
    public struct Options: Sendable {
        /// False in tests that write much: then an append survives the end of the process and no loss of power.
        public var syncs = true
        public init() {}
    }

    public let files: TrailFiles
    public let keys: AuditKeys
    private let options: Options
    private let lock: Descriptor
    private var edge = TrailEdge()
    /// The bytes of the head that this process has read or written last. It is empty if there is none.
    private var head: [UInt8] = []
    /// The number of bytes of the entries that are not in a full bundle.
    private var tailBytes = 0
    /// True if there was no trail when it was opened.
    public private(set) var isNew = false

    /// The number of entries.
    public var size: Int { edge.size }
    public var checkpoint: [UInt8] { head }
    public var root: Digest { edge.root }

    /// Opens the trail in the folder. Makes an empty one if there is none. A trail whose right edge does not fit its head is a fault.
    public init(_ folder: String, keys: AuditKeys, options: Options = Options()) throws(StorageFault) {
        files = TrailFiles(folder)
        self.keys = keys
        self.options = options
        try TrailFiles.makeFolder(folder)
        let number = open(files.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw TrailFiles.writeFault(files.lock) }
        lock = Descriptor(owning: number)
        try locked { () throws(StorageFault) in try refresh() }
    }

    private func locked<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        while flock(lock.number, LOCK_EX) != 0 {
            guard errno == EINTR else { throw StorageFault(.failed, "\(files.lock): cannot be locked: \(SystemFault())") }
        }
        defer { flock(lock.number, LOCK_UN) }
        return try body()
    }

    // MARK: - Reading what others have written

    /// Takes over the head on disk if another process has written it.
    private func refresh() throws(StorageFault) {
        let found = try TrailFiles.read(files.checkpoint, most: SignedNote.largest) ?? []
        if found == head, !found.isEmpty { return }
        guard !found.isEmpty else {
            guard head.isEmpty else { throw StorageFault.removed(files.checkpoint) }
            return try begin()
        }
        let reader = try TrailReader(files, keys: keys.all)
        guard let reader else { throw StorageFault.removed(files.checkpoint) }
        guard reader.head.size >= edge.size, try reader.root(of: 0..<edge.size) == edge.root else {
            throw StorageFault(
                .damaged,
                "\(files.checkpoint): the audit trail was set back or rewritten while the router has it: it had \(edge.size) entries")
        }
        try load(reader)
        head = found
        try finish()
    }

    /// Begins a new trail with the signed head of an empty tree, so that a head that is missing later was removed.
    private func begin() throws(StorageFault) {
        let left = TrailFiles.names(in: files.folder).contains { $0 == "tile" || $0.hasPrefix("tail-") }
        guard !left else {
            throw StorageFault(
                .damaged,
                "\(files.checkpoint): is missing, but the audit trail has entries; put it back, or move \(files.folder) away to begin a new trail"
            )
        }
        try write(edge)
        isNew = true
    }

    /// Writes the signed head of this edge. From then on, its entries count.
    private func write(_ edge: TrailEdge) throws(StorageFault) {
        var note = SignedNote(text: Checkpoint(origin: keys.origin, size: edge.size, root: edge.root).text)
        note.sign(keys.signing, as: keys.name)
        try TrailFiles.replace(files.checkpoint, with: note.bytes, syncs: options.syncs)
        self.edge = edge
        head = note.bytes
    }

    private func load(_ reader: TrailReader) throws(StorageFault) {
        let size = reader.head.size
        var levels: [[Digest]] = []
        repeat {
            let level = levels.count
            let end = size >> (Tiles.height * level)
            let first = end - Tiles.partialWidth(level: level, size: size)
            levels.append(try (first..<end).map { (at) throws(StorageFault) in try reader.node(height: Tiles.height * level, index: at) })
        } while size >> (Tiles.height * levels.count) > 0
        let edge = TrailEdge(size: size, levels: levels)
        guard edge.root == reader.head.root else {
            throw StorageFault(
                .damaged,
                "\(files.folder): the audit trail does not fit its signed head; switchyard audit verify finds the place. To go on with a new "
                    + "trail, move the folder away and keep it")
        }
        self.edge = edge
        let count = size % Tiles.width
        tailBytes = 0
        if count > 0, let bytes = try reader.readBundle(size / Tiles.width) {
            tailBytes = bytes.withUnsafeBytes { Tiles.entries($0, most: count).last?.upperBound ?? 0 }
        }
    }

    // MARK: - Writing

    /// Adds entries. When this returns, a signed head counts them on disk. If it throws, none of them is in the trail. Returns their numbers.
    public func append(_ entries: [[UInt8]]) throws(StorageFault) -> Range<Int> {
        return try locked { () throws(StorageFault) in
            try refresh()
            let first = edge.size
            if entries.isEmpty { return first..<first }
            var next = edge
            var bundle = first / Tiles.width
            var offset = tailBytes
            var bytes: [UInt8] = []
            for entry in entries {
                Tiles.append(entry, to: &bytes)
                let isFull = !next.append(Digest.leaf(entry)).isEmpty
                guard isFull else { continue }
                try TrailFiles.write(files.tail(bundle), at: offset, bytes, syncs: options.syncs)
                (bundle, offset, bytes) = (bundle + 1, 0, [])
            }
            if !bytes.isEmpty { try TrailFiles.write(files.tail(bundle), at: offset, bytes, syncs: options.syncs) }
            try write(next)
            tailBytes = offset + bytes.count
            // A failure is made up for by the next append or the next start: the entries are safe where they are.
            try? finish()
            return first..<next.size
        }
    }

    /// Puts the bundles that are full in their place, each after its tiles.
    private func finish() throws(StorageFault) {
        var first = edge.size / Tiles.width
        while first > 0, access(files.tail(first - 1), F_OK) == 0 { first -= 1 }
        for bundle in first..<edge.size / Tiles.width {
            guard let bytes = try TrailFiles.read(files.tail(bundle), most: TrailReader.mostBundleBytes) else { continue }
            let (hashes, end): ([Digest], Int) = bytes.withUnsafeBytes { bytes in
                let places = Tiles.entries(bytes)
                return (places.map { Digest.leaf(UnsafeRawBufferPointer(rebasing: bytes[$0])) }, places.last?.upperBound ?? 0)
            }
            guard hashes.count == Tiles.width, end == bytes.count else {
                throw StorageFault(.damaged, "\(files.tail(bundle)): has not 256 whole entries")
            }
            try store(hashes, level: 0, index: bundle)
            let place = files.bundle(bundle)
            try TrailFiles.makeFolder(of: place)
            guard rename(files.tail(bundle), place) == 0 else { throw TrailFiles.writeFault(place) }
        }
    }

    /// Writes a full tile, and the tiles above it that it fills.
    private func store(_ hashes: [Digest], level: Int, index: Int) throws(StorageFault) {
        let path = files.tile(level, index)
        try TrailFiles.makeFolder(of: path)
        try TrailFiles.replace(path, with: Tiles.bytes(hashes), syncs: options.syncs)
        guard (index + 1) % Tiles.width == 0 else { return }
        let first = index + 1 - Tiles.width
        var above: [Digest] = []
        for child in first...index {
            guard let bytes = try TrailFiles.read(files.tile(level, child), most: Tiles.width * Digest.size),
                let hashes = Tiles.hashes(bytes, count: Tiles.width)
            else { throw StorageFault(.damaged, "\(files.tile(level, child)): has not 256 hashes") }
            above.append(Frontier.root(of: hashes))
        }
        try store(above, level: level + 1, index: index / Tiles.width)
    }
}
