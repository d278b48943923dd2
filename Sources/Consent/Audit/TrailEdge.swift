// The right edge of a trail's tree, as tiles: the hashes of the last tile of each level. It is all that is needed to add entries.

internal import MerkleLog

struct TrailEdge: Sendable, Equatable {
    /// A tile that became full.
    struct FullTile {
        var level: Int
        var index: Int
        var hashes: [Digest]
    }

    private(set) var size = 0
    /// The hashes of the partial tile of each level.
    private(set) var levels: [[Digest]] = [[]]

    init() {}

    /// The edge of a tree of this size. `levels` has as many hashes at each level as its partial tile.
    init(size: Int, levels: [[Digest]]) {
        precondition(!levels.isEmpty && levels.indices.allSatisfy { levels[$0].count == Tiles.partialWidth(level: $0, size: size) })
        self.size = size
        self.levels = levels
    }

    /// Adds a leaf. Returns the tiles that it fills.
    mutating func append(_ leaf: Digest) -> [FullTile] {
        var full: [FullTile] = []
        levels[0].append(leaf)
        size += 1
        var level = 0
        while levels[level].count == Tiles.width {
            let hashes = levels[level]
            full.append(FullTile(level: level, index: size >> (Tiles.height * (level + 1)) - 1, hashes: hashes))
            levels[level] = []
            level += 1
            if level == levels.count { levels.append([]) }
            levels[level].append(Frontier.root(of: hashes))
        }
        return full
    }

    var root: Digest {
        var frontier = Frontier()
        for level in levels.indices.reversed() {
            for hash in levels[level] { frontier.append(hash, height: Tiles.height * level) }
        }
        assert(frontier.size == size, "the tiles of an edge do not make up its size")
        return frontier.root
    }
}
