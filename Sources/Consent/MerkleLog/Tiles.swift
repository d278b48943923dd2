// Tiles of C2SP tlog-tiles: 256 consecutive hashes of a tree at a height that is a multiple of 8, and bundles of the entries of 256 leaves.

internal import Glibc

public enum Tiles {
    /// The number of hashes of a full tile, and of entries of a full bundle.
    public static let width = 256
    /// The number of levels of a tree that a tile spans.
    public static let height = 8
    /// The most bytes of an entry: its length has 16 bits.
    public static let mostEntryBytes = 65_535

    /// Returns the number of hashes of the partial tile at a level of a tree. It is 0 if the last tile is full.
    public static func partialWidth(level: Int, size: Int) -> Int { size >> (height * level) & (width - 1) }

    /// Returns the number of full tiles at a level of a tree.
    public static func fullCount(level: Int, size: Int) -> Int { size >> (height * (level + 1)) }

    /// Returns the path of a full tile: `tile/0/x001/x234/067`. The level is nil for the bundle of the entries.
    public static func path(level: Int?, index: Int) -> String { "tile/\(level.map { String($0) } ?? "entries")/\(elements(index))" }

    /// Returns the path of a partial tile of this width.
    public static func path(level: Int?, index: Int, width: Int) -> String {
        precondition((1..<Tiles.width).contains(width), "a partial tile is empty or full")
        return path(level: level, index: index) + ".p/\(width)"
    }

    /// Returns the index in groups of three digits. All groups but the last begin with an `x`.
    private static func elements(_ index: Int) -> String {
        precondition(index >= 0, "the index of a tile is negative")
        let group = String(index % 1000)
        let last = String(repeating: "0", count: 3 - group.utf8.count) + group
        var rest = index / 1000
        var path = last
        while rest > 0 {
            let group = String(rest % 1000)
            path = "x" + String(repeating: "0", count: 3 - group.utf8.count) + group + "/" + path
            rest /= 1000
        }
        return path
    }

    // MARK: - Contents

    /// Returns the hashes of a tile. Returns nil if the bytes are not that many hashes.
    public static func hashes(_ bytes: [UInt8], count: Int) -> [Digest]? {
        guard bytes.count == count * Digest.size else { return nil }
        return bytes.withUnsafeBytes { bytes in
            (0..<count).map { Digest(UnsafeRawBufferPointer(rebasing: bytes[$0 * Digest.size..<($0 + 1) * Digest.size]))! }
        }
    }

    public static func bytes(_ hashes: [Digest]) -> [UInt8] { hashes.flatMap(\.bytes) }

    /// Appends an entry to a bundle: its length in two bytes, the most significant first, and its bytes.
    public static func append(_ entry: [UInt8], to bundle: inout [UInt8]) {
        precondition(entry.count <= mostEntryBytes, "an entry is longer than its length can say")
        bundle.append(UInt8(entry.count >> 8))
        bundle.append(UInt8(entry.count & 0xff))
        bundle += entry
    }

    /// Returns the places of the first entries of a bundle, at most `most` of them. It ends before an entry that is cut off.
    public static func entries(_ bundle: UnsafeRawBufferPointer, most: Int = width) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var at = 0
        while found.count < most, bundle.count - at >= 2 {
            let count = Int(bundle[at]) << 8 | Int(bundle[at + 1])
            guard bundle.count - at - 2 >= count else { break }
            found.append(at + 2..<at + 2 + count)
            at += 2 + count
        }
        return found
    }
}
