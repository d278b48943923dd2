// Proofs of RFC 6962, section 2.1: that a tree has a leaf, and that it has grown from an earlier tree. They are made from the hashes of
// perfect subtrees, and checked with nothing but the hashes that they name.

/// The hashes of the perfect subtrees of a tree.
public protocol TreeNodes {
    /// The error of a hash that cannot be read.
    associatedtype Fault: Error
    /// Returns the root of the subtree with the leaves from index * 2^height on. The tree has all 2^height of them.
    func node(height: Int, index: Int) throws(Fault) -> Digest
}

extension TreeNodes {
    /// Returns the root of the leaves in the range.
    public func root(of leaves: Range<Int>) throws(Fault) -> Digest {
        if leaves.isEmpty { return .ofEmptyTree }
        let count = leaves.count
        if count.nonzeroBitCount == 1, leaves.lowerBound % count == 0 {
            return try node(height: count.trailingZeroBitCount, index: leaves.lowerBound / count)
        }
        let middle = leaves.lowerBound + split(count)
        return Digest.node(try root(of: leaves.lowerBound..<middle), try root(of: middle..<leaves.upperBound))
    }

    /// Returns the proof that the tree of `size` leaves has the leaf with this index: from the leaf's sibling up to the child of the root.
    public func inclusion(of index: Int, size: Int) throws(Fault) -> [Digest] {
        precondition((0..<size).contains(index), "a tree has no such leaf")
        return try path(to: index, in: 0..<size)
    }

    private func path(to index: Int, in leaves: Range<Int>) throws(Fault) -> [Digest] {
        guard leaves.count > 1 else { return [] }
        let middle = leaves.lowerBound + split(leaves.count)
        return index < middle
            ? try path(to: index, in: leaves.lowerBound..<middle) + [try root(of: middle..<leaves.upperBound)]
            : try path(to: index, in: middle..<leaves.upperBound) + [try root(of: leaves.lowerBound..<middle)]
    }

    /// Returns the proof that the tree of `new` leaves begins with the tree of `old` leaves.
    public func consistency(old: Int, new: Int) throws(Fault) -> [Digest] {
        precondition(old >= 0 && old <= new, "a tree cannot grow to a smaller one")
        return old == 0 ? [] : try steps(old: old, in: 0..<new, isWhole: true)
    }

    private func steps(old: Int, in leaves: Range<Int>, isWhole: Bool) throws(Fault) -> [Digest] {
        if old == leaves.count { return isWhole ? [] : [try root(of: leaves)] }
        let split = split(leaves.count)
        let middle = leaves.lowerBound + split
        return old <= split
            ? try steps(old: old, in: leaves.lowerBound..<middle, isWhole: isWhole) + [try root(of: middle..<leaves.upperBound)]
            : try steps(old: old - split, in: middle..<leaves.upperBound, isWhole: false) + [try root(of: leaves.lowerBound..<middle)]
    }

    /// Returns the largest power of two that is less than the count: the size of the left subtree.
    private func split(_ count: Int) -> Int { 1 << (Int.bitWidth - 1 - (count - 1).leadingZeroBitCount) }
}

/// The checks of proofs.
public enum TreeProof {
    /// Returns the root that the proof leads to from the leaf. Returns nil if it has another length than such a proof.
    public static func root(leaf: Digest, index: Int, size: Int, proof: [Digest]) -> Digest? {
        guard index >= 0, index < size else { return nil }
        // The bits of `node` say at which side the sibling is. Where `node` is `last`, the tree has no sibling to the right.
        var (node, last, hash) = (index, size - 1, leaf)
        for sibling in proof {
            if last == 0 { return nil }
            if node & 1 == 1 || node == last {
                hash = Digest.node(sibling, hash)
                while node & 1 == 0, node != 0 {
                    node >>= 1
                    last >>= 1
                }
            } else {
                hash = Digest.node(hash, sibling)
            }
            node >>= 1
            last >>= 1
        }
        return last == 0 ? hash : nil
    }

    /// Returns true if the proof shows that the tree with the new root begins with the tree with the old root.
    public static func isConsistent(old: Int, oldRoot: Digest, new: Int, newRoot: Digest, proof: [Digest]) -> Bool {
        if old == new { return proof.isEmpty && oldRoot == newRoot }
        guard old <= new else { return false }
        if old == 0 { return proof.isEmpty }
        var proof = proof[...]
        // If the old tree is perfect, the proof leaves out its root.
        if old.nonzeroBitCount == 1 { proof = [oldRoot] + proof }
        guard let first = proof.popFirst() else { return false }
        var (node, last) = (old - 1, new - 1)
        while node & 1 == 1 {
            node >>= 1
            last >>= 1
        }
        var (oldHash, newHash) = (first, first)
        for sibling in proof {
            if last == 0 { return false }
            if node & 1 == 1 || node == last {
                oldHash = Digest.node(sibling, oldHash)
                newHash = Digest.node(sibling, newHash)
                while node & 1 == 0, node != 0 {
                    node >>= 1
                    last >>= 1
                }
            } else {
                newHash = Digest.node(newHash, sibling)
            }
            node >>= 1
            last >>= 1
        }
        return last == 0 && oldHash == oldRoot && newHash == newRoot
    }
}
