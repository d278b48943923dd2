// The right edge of a growing tree: the roots of the perfect subtrees that its leaves make up, from the largest on. It is all that is needed
// to add leaves and to compute the root.

/// The perfect subtrees of a tree of `size` leaves. Their sizes are the powers of two in `size`.
public struct Frontier: Sendable, Equatable {
    public private(set) var size = 0
    private var roots: [Digest] = []

    public init() {}

    /// Adds a leaf, given its hash.
    public mutating func append(_ leaf: Digest) { append(leaf, height: 0) }

    /// Adds a perfect subtree of 2^height leaves, given its root. The size must be a multiple of its number of leaves.
    public mutating func append(_ root: Digest, height: Int) {
        precondition(size & (1 << height - 1) == 0, "a subtree does not begin where one of its size can begin")
        var root = root
        var height = height
        // Two subtrees of the same size become one of twice the size.
        while size >> height & 1 == 1 {
            root = Digest.node(roots.removeLast(), root)
            size -= 1 << height
            height += 1
        }
        roots.append(root)
        size += 1 << height
        assert(roots.count == size.nonzeroBitCount, "a power of two in the size has no subtree")
    }

    /// The root of the tree.
    public var root: Digest {
        guard var root = roots.last else { return .ofEmptyTree }
        for left in roots.dropLast().reversed() { root = Digest.node(left, root) }
        return root
    }

    /// Returns the root of a tree with these leaves.
    public static func root(of leaves: some Sequence<Digest>) -> Digest {
        var frontier = Frontier()
        for leaf in leaves { frontier.append(leaf) }
        return frontier.root
    }
}
