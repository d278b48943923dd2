// Verifies a whole trail: its signed head, every entry, every tile, and everything that entries name by a hash. It finds each change, each
// missing or swapped entry and each cut; a loss at the end it finds by a head that was kept elsewhere.

internal import Glibc
public import Ledger
public import MerkleLog
public import Platform

public struct TrailFindings: Sendable, Equatable {
    /// What is wrong, each with its place.
    public internal(set) var faults: [String] = []
    /// The number of faults that are not listed.
    public internal(set) var unlisted = 0
    /// What is worth knowing and no fault.
    public internal(set) var notes: [String] = []
    public internal(set) var entries = 0
    /// The number of entries whose bytes were deleted when their time was over. Their hashes are verified.
    public internal(set) var pruned = 0
    public internal(set) var verdicts = 0
    public internal(set) var bytes = 0
    /// The last position of the ledger in the trail.
    public internal(set) var ledger: LedgerPosition?

    /// The most faults that are listed.
    static let most = 1000

    public var isWhole: Bool { faults.isEmpty }

    mutating func add(_ fault: String) {
        if faults.count < TrailFindings.most { faults.append(fault) } else { unlisted += 1 }
    }
}

public struct TrailVerification {
    private let reader: TrailReader
    private let files: TrailFiles
    private var findings = TrailFindings()
    /// What the bundle that is being read has: its faults and its blocks of rows, in the order of their entries. The blocks are verified
    /// together when the bundle has been read.
    private var found: [Found] = []
    /// The tree of the hashes that the tiles have, and of those that the entries make.
    private var frontier = Frontier()
    /// The texts that were verified.
    private var texts: Set<String> = []
    /// The number of the first entry that must be there.
    private var kept = 0
    private var keptVerdicts = 0
    /// The verdicts of entries before `keptVerdicts` may be missing; that is known at the end.
    private var missingVerdicts: [(entry: Int, fault: String)] = []
    private var missingBundles: [Int] = []

    private enum Found {
        case fault(String)
        case rows(VerdictPlace, entry: Int)
    }

    /// Verifies the trail in the folder. `kept` is a head that was kept elsewhere, and its place.
    public static func run(
        _ folder: String, keys: [NoteKey], kept: (bytes: [UInt8], path: String)? = nil
    ) throws(StorageFault) -> TrailFindings {
        let files = TrailFiles(folder)
        let reader: TrailReader
        do throws(StorageFault) {
            guard let found = try TrailReader(files, keys: keys) else {
                throw StorageFault(.damaged, "\(files.checkpoint): there is no audit trail, or its signed head was removed")
            }
            reader = found
        } catch {
            guard error.kind == .damaged || error.kind == .foreign else { throw error }
            var findings = TrailFindings()
            findings.add(error.description)
            return findings
        }
        var verification = TrailVerification(reader)
        try verification.verify()
        if let kept { try verification.compare(kept.bytes, keys: keys, path: kept.path) }
        return verification.findings
    }

    private init(_ reader: TrailReader) {
        self.reader = reader
        files = reader.files
    }

    private mutating func verify() throws(StorageFault) {
        let size = reader.head.size
        findings.entries = size
        for bundle in 0..<(size + Tiles.width - 1) / Tiles.width { try verify(bundle: bundle) }
        var level = 1
        while Tiles.fullCount(level: level, size: size) > 0 {
            for tile in 0..<Tiles.fullCount(level: level, size: size) { try verify(level, tile) }
            level += 1
        }
        if frontier.size == size, frontier.root != reader.head.root {
            findings.add("\(files.checkpoint): the entries do not make up the signed head of \(grouped(size)) entries")
        }
        settleMissing()
    }

    // MARK: - Entries and tiles

    private mutating func verify(bundle: Int) throws(StorageFault) {
        let first = bundle * Tiles.width
        let count = min(Tiles.width, reader.head.size - first)
        let isFull = count == Tiles.width
        let tile = isFull ? try verified { [reader] () throws(StorageFault) in try reader.readTile(0, bundle) } ?? nil : nil
        guard let bytes = try verified({ [reader] () throws(StorageFault) in try reader.readBundle(bundle) }) ?? nil else {
            missingBundles.append(bundle)
            if let tile {
                for hash in tile { frontier.append(hash) }
                findings.pruned += count
            } else {
                findings.add("\(files.bundle(bundle)): entries \(first) to \(first + count - 1) are missing")
            }
            return
        }
        findings.bytes += bytes.count
        let places = bytes.withUnsafeBytes { Tiles.entries($0, most: count) }
        let end = places.last?.upperBound ?? 0
        if places.count < count {
            findings.add(
                "\(files.bundle(bundle)): has \(places.count) of \(count) entries; entries from \(first + places.count) on are missing or changed"
            )
        } else if isFull, end < bytes.count {
            findings.add("\(files.bundle(bundle)): has \(bytes.count - end) bytes after entry \(first + count - 1)")
        } else if end < bytes.count {
            findings.notes.append(
                "\(files.tail(bundle)): has \(bytes.count - end) bytes that no signed head counts, of an append that was cut off")
        }
        if isFull, tile == nil { missing(files.tile(0, bundle), of: bundle) }
        for (index, place) in places.enumerated() {
            let entry = Array(bytes[place])
            let hash = Digest.leaf(entry)
            if let tile, tile[index] != hash {
                found.append(.fault("entry \(first + index) was changed, or its hash in \(files.tile(0, bundle))"))
            }
            frontier.append(hash)
            try read(entry, number: first + index)
        }
        try verifyFound()
    }

    /// Verifies the blocks of rows of a bundle, and takes over all that was found in it.
    private mutating func verifyFound() throws(StorageFault) {
        let places = found.compactMap { if case .rows(let place, _) = $0 { place } else { nil } }
        var results = RowVerification.results(places, files)[...]
        for item in found {
            switch item {
            case .fault(let fault): findings.add(fault)
            case .rows(let place, let entry): try take(results.removeFirst(), place, of: entry)
            }
        }
        found.removeAll(keepingCapacity: true)
    }

    private mutating func take(_ result: RowResult, _ place: VerdictPlace, of number: Int) throws(StorageFault) {
        let path = files.verdicts(place.file)
        switch result {
        case .failed(let fault):
            guard fault.kind == .damaged else { throw fault }
            findings.add(fault.description)
            return
        case .missing:
            missingVerdicts.append((number, "\(path): the verdicts of entry \(number) are missing or cut off"))
            return
        case .changed: findings.add("\(path): the verdicts of entry \(number) were changed")
        case .whole: break
        }
        findings.verdicts += place.count
        findings.bytes += place.bytes
    }

    /// Verifies that each hash of a tile is the root of a tile below.
    private mutating func verify(_ level: Int, _ index: Int) throws(StorageFault) {
        let path = files.tile(level, index)
        guard let tile = try verified({ [reader] () throws(StorageFault) in try reader.readTile(level, index) }) ?? nil else {
            missing(path, of: (index + 1) << (Tiles.height * level) - 1)
            return
        }
        findings.bytes += Tiles.width * Digest.size
        for (at, hash) in tile.enumerated() {
            let child = index * Tiles.width + at
            guard let below = try verified({ [reader] () throws(StorageFault) in try reader.readTile(level - 1, child) }) ?? nil else {
                continue
            }
            if Frontier.root(of: below) != hash { findings.add("\(path): hash \(at) does not fit \(files.tile(level - 1, child))") }
        }
    }

    /// Reports a missing tile. `bundle` is the last one that the tile covers: it gets its final name after all tiles that it fills, so only
    /// before that a tile may be missing.
    private mutating func missing(_ tile: String, of bundle: Int) {
        if access(files.tail(bundle), F_OK) == 0 {
            findings.notes.append("\(tile): is not there yet; it is made at the next start")
        } else {
            findings.add("\(tile): is missing")
        }
    }

    /// Returns nil if the body finds damage, which is noted.
    private mutating func verified<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R? {
        do throws(StorageFault) {
            return try body()
        } catch {
            guard error.kind == .damaged else { throw error }
            findings.add(error.description)
            return nil
        }
    }

    // MARK: - What entries name

    private mutating func read(_ entry: [UInt8], number: Int) throws(StorageFault) {
        guard let reading = EntryReading(entry) else {
            findings.notes.append("entry \(number) is not JSON: it was written by another program")
            return
        }
        if let ledger = reading.ledger { findings.ledger = ledger }
        for hash in [reading.text("text_sha256"), reading.text("plan")].compactMap(\.self) { try verify(text: hash, of: number) }
        if reading.kind == .verdicts, reading.number("rows") != 0 { note(reading.verdicts, of: number) }
        if reading.kind == .pruned {
            kept = max(kept, reading.number("entries") ?? 0)
            keptVerdicts = max(keptVerdicts, reading.number("verdicts") ?? 0)
        }
    }

    private mutating func verify(text hash: String, of number: Int) throws(StorageFault) {
        guard hash.utf8.count == 64, hash.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66 }) else { return }
        guard texts.insert(hash).inserted else { return }
        var text: [UInt8]?
        do throws(StorageFault) {
            text = try TrailFiles.read(files.text(hash), most: 1 << 30)
        } catch {
            guard error.kind == .damaged else { throw error }
            found.append(.fault(error.description))
        }
        guard let text else {
            found.append(.fault("\(files.text(hash)): the text of entry \(number) is missing"))
            return
        }
        findings.bytes += text.count
        if hex(Digest(of: text).bytes) != hash { found.append(.fault("\(files.text(hash)): the text of entry \(number) was changed")) }
    }

    private mutating func note(_ place: VerdictPlace?, of number: Int) {
        if let place {
            found.append(.rows(place, entry: number))
        } else {
            findings.notes.append("entry \(number) has verdicts in a form that this version does not know")
        }
    }

    /// Reports what is missing and was not pruned. Only now it is known how far the trail says that it was.
    private mutating func settleMissing() {
        for missing in missingVerdicts where missing.entry >= keptVerdicts { findings.add(missing.fault) }
        for bundle in missingBundles where (bundle + 1) * Tiles.width > kept && bundle < Tiles.fullCount(level: 0, size: reader.head.size) {
            findings.add("\(files.bundle(bundle)): entries \(bundle * Tiles.width) to \((bundle + 1) * Tiles.width - 1) are missing")
        }
    }

    // MARK: - A head that was kept elsewhere

    private mutating func compare(_ bytes: [UInt8], keys: [NoteKey], path: String) throws(StorageFault) {
        guard let head = try verified({ () throws(StorageFault) in try TrailReader.head(bytes, keys: keys, path).1 }) else { return }
        let size = reader.head.size
        guard head.size <= size else {
            findings.add(
                "\(files.folder): has \(grouped(size)) entries, and \(path) was signed over \(grouped(head.size)): the last ones are lost")
            return
        }
        guard let root = try verified({ [reader] () throws(StorageFault) in try reader.root(of: 0..<head.size) }) else { return }
        if root != head.root {
            findings.add("\(files.folder): its first \(grouped(head.size)) entries are others than those that \(path) was signed over")
        }
    }
}
