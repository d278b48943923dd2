// The root of a tree whose leaves are rows of the same size, one after the other in memory. Rows are short, so preparing each hash by itself
// would cost about as much as the hash: here all leaves of a perfect subtree are hashed together, and then each level from the one below it.

public enum RowTree {
    /// Larger subtrees are divided, so that their hashes stay in a near cache: 1,024 hashes are 32 kB.
    private static let mostHeight = 10

    /// Returns the root of the tree of the rows.
    public static func root(_ rows: UnsafeRawBufferPointer, width: Int) -> Digest {
        precondition(width > 0 && rows.count % width == 0, "a row is cut off")
        var frontier = Frontier()
        withUnsafeTemporaryAllocation(byteCount: Digest.size << mostHeight, alignment: 16) { hashes in
            let count = rows.count / width
            while frontier.size < count {
                // The largest perfect subtree that can follow. Each is at most as large as the one before, so it begins where it can.
                let left = count - frontier.size
                let height = min(mostHeight, Int.bitWidth - 1 - left.leadingZeroBitCount)
                let first = rows.baseAddress! + frontier.size * width
                frontier.append(root(of: first, width: width, height: height, hashes.baseAddress!), height: height)
            }
        }
        return frontier.root
    }

    /// Returns the root of the perfect subtree of 2^height rows. `hashes` has room for a hash of each row.
    private static func root(of rows: UnsafeRawPointer, width: Int, height: Int, _ hashes: UnsafeMutableRawPointer) -> Digest {
        var count = 1 << height
        Digest.hash(0x00, each: rows, count: count, size: width, to: hashes)
        while count > 1 {
            count /= 2
            Digest.hash(0x01, each: hashes, count: count, size: 2 * Digest.size, to: hashes)
        }
        return Digest(UnsafeRawBufferPointer(start: hashes, count: Digest.size))!
    }
}
