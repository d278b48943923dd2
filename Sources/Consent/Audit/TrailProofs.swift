// Proofs from a trail: for one entry, and for the verdicts of one event. A proof has everything that a verifier needs who has only the public
// key: the entry, its path to the signed head, and for a row of verdicts its path to the root that the entry names.

internal import Glibc
public import MerkleLog
public import Platform

public struct EntryProof: Sendable {
    public var index: Int
    public var entry: [UInt8]
    public var path: [Digest]
    /// The signed head.
    public var head: SignedNote
    /// The row of verdicts that is proved. It is nil if only the entry is.
    public var row: Row?

    public struct Row: Sendable {
        public var index: Int
        public var count: Int
        public var bytes: [UInt8]
        public var path: [Digest]
    }

    /// The proof as one line of JSON.
    public var json: String {
        func list(_ path: [Digest]) -> String { "[\(path.map { jsonQuoted(StrictBase64.encode($0.bytes)) }.joined(separator: ","))]" }
        var text = #"{"index":\#(index),"entry":\#(jsonQuoted(String(decoding: entry, as: UTF8.self))),"path":\#(list(path))"#
        if let row {
            text += #","row":{"index":\#(row.index),"count":\#(row.count),"hex":"\#(hex(row.bytes))","path":\#(list(row.path))}"#
        }
        return text + #","head":\#(jsonQuoted(String(decoding: head.bytes, as: UTF8.self)))}"#
    }

    /// Returns true if the proof holds.
    public var isValid: Bool {
        guard let checkpoint = Checkpoint(text: head.text),
            TreeProof.root(leaf: .leaf(entry), index: index, size: checkpoint.size, proof: path) == checkpoint.root
        else { return false }
        guard let row else { return true }
        guard let place = EntryReading(entry)?.verdicts, place.count == row.count, place.width == row.bytes.count,
            let root = TreeProof.root(leaf: .leaf(row.bytes), index: row.index, size: row.count, proof: row.path)
        else { return false }
        return StrictBase64.encode(root.bytes) == place.root
    }
}

/// Hashes of leaves in memory.
struct LeafHashes: TreeNodes {
    let leaves: [Digest]

    func node(height: Int, index: Int) throws(Never) -> Digest {
        Frontier.root(of: leaves[index << height..<(index + 1) << height])
    }
}

extension TrailReader {
    /// Returns the proof of an entry. Returns nil if the entry was pruned.
    public func proof(of index: Int) throws(StorageFault) -> EntryProof? {
        guard let entry = try entry(index) else { return nil }
        return EntryProof(index: index, entry: entry, path: try inclusion(of: index, size: head.size), head: note)
    }

    /// Calls the body with each entry that is there, in order.
    public func forEachEntry(_ body: (Int, EntryReading) throws(StorageFault) -> Void) throws(StorageFault) {
        for index in 0..<head.size {
            guard let bytes = try entry(index), let entry = EntryReading(bytes) else { continue }
            try body(index, entry)
        }
    }

    /// Returns the proofs of the verdicts of the event with this hash. `missing` gets the number of entries whose verdicts are not there.
    public func verdicts(of hash: [UInt8], missing: (Int) -> Void) throws(StorageFault) -> [EntryProof] {
        precondition(hash.count == VerdictRow.hashSize, "the hash of an event has another size")
        var proofs: [EntryProof] = []
        var absent = 0
        try forEachEntry { (index, entry) throws(StorageFault) in
            guard let place = entry.verdicts else { return }
            guard let rows = try VerdictFiles.rows(place, files.verdicts(place.file)) else {
                absent += 1
                return
            }
            let found = TrailReader.rows(rows, width: place.width, hash: hash)
            guard !found.isEmpty, let proof = try proof(of: index) else { return }
            let nodes = LeafHashes(
                leaves: stride(from: 0, to: rows.count, by: place.width).map { Digest.leaf(Array(rows[$0..<$0 + place.width])) })
            for row in found {
                var proof = proof
                proof.row = EntryProof.Row(
                    index: row, count: place.count, bytes: Array(rows[row * place.width..<(row + 1) * place.width]),
                    path: nodes.inclusion(of: row, size: place.count))
                proofs.append(proof)
            }
        }
        missing(absent)
        return proofs
    }

    /// Returns the indices of the rows that begin with the hash.
    private static func rows(_ rows: [UInt8], width: Int, hash: [UInt8]) -> [Int] {
        rows.withUnsafeBytes { rows in
            hash.withUnsafeBytes { hash in
                stride(from: 0, to: rows.count, by: width).filter { memcmp(rows.baseAddress! + $0, hash.baseAddress!, hash.count) == 0 }
                    .map { $0 / width }
            }
        }
    }
}
