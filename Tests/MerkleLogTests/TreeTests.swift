// The tree, compared with published test vectors and with the definitions of RFC 6962 written out naively.

import MerkleLog
import Seeded
import Testing

/// The definitions of RFC 6962, section 2.1, word for word.
enum NaiveTree {
    static func root(_ leaves: ArraySlice<[UInt8]>) -> Digest {
        guard leaves.count > 1 else { return leaves.first.map { Digest.leaf($0) } ?? .ofEmptyTree }
        let middle = leaves.startIndex + split(leaves.count)
        return Digest(of: [1] + root(leaves[..<middle]).bytes + root(leaves[middle...]).bytes)
    }

    static func path(_ index: Int, _ leaves: ArraySlice<[UInt8]>) -> [Digest] {
        guard leaves.count > 1 else { return [] }
        let middle = leaves.startIndex + split(leaves.count)
        return index < middle
            ? path(index, leaves[..<middle]) + [root(leaves[middle...])] : path(index, leaves[middle...]) + [root(leaves[..<middle])]
    }

    static func split(_ count: Int) -> Int {
        var power = 1
        while power * 2 < count { power *= 2 }
        return power
    }
}

/// Hashes that are computed from the leaves whenever they are asked for.
struct NaiveNodes: TreeNodes {
    let leaves: [[UInt8]]
    func node(height: Int, index: Int) throws(Never) -> Digest { NaiveTree.root(leaves[index << height..<(index + 1) << height]) }
}

@Suite("A Merkle tree")
struct TreeTests {
    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.utf8.count, by: 2).map { at in
            UInt8(String(decoding: Array(hex.utf8)[at..<at + 2], as: UTF8.self), radix: 16)!
        }
    }

    private func hex(_ digest: Digest) -> String {
        digest.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The inputs and roots that the certificate-transparency projects publish.
    private let published = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    private let publishedRoots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]

    @Test func `The roots are those of the published test vectors`() {
        #expect(hex(.ofEmptyTree) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        var frontier = Frontier()
        for (leaf, root) in zip(published, publishedRoots) {
            frontier.append(Digest.leaf(bytes(leaf)))
            #expect(hex(frontier.root) == root)
        }
    }

    /// 2,600 rows are two subtrees of 1,024 and smaller ones; the widths take one, two and three blocks of the hash.
    @Test(arguments: [1, 17, 54, 55, 63, 64, 118, 119, 150])
    func `The root of rows in memory is that of their leaves, at every number and width`(_ width: Int) {
        var random = Seeded(state: UInt64(width))
        let rows = (0..<2600 * width).map { _ in UInt8(random.below(256)) }
        var frontier = Frontier()
        for count in 0...2600 {
            if count < 130 || count % 509 == 0 || [1023, 1024, 1025, 2047, 2048, 2600].contains(count) {
                let root = rows.withUnsafeBytes { RowTree.root(UnsafeRawBufferPointer(rebasing: $0[..<(count * width)]), width: width) }
                #expect(root == frontier.root, "\(count) rows")
            }
            if count < 2600 { frontier.append(Digest.leaf(Array(rows[count * width..<(count + 1) * width]))) }
        }
    }

    @Test func `The proofs are those of the published test vectors`() {
        let nodes = NaiveNodes(leaves: published.map(bytes))
        // The audit path of the sixth leaf in eight, and the growth from six leaves to eight.
        #expect(
            nodes.inclusion(of: 5, size: 8).map(hex) == [
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ])
        #expect(
            nodes.consistency(old: 6, new: 8).map(hex) == [
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ])
    }

    @Test func `Roots and proofs of every tree of up to 40 leaves are those of the definition`() {
        var random = Seeded(state: 7)
        let leaves = (0..<40).map { _ in (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
        var frontier = Frontier()
        for size in 1...leaves.count {
            frontier.append(Digest.leaf(leaves[size - 1]))
            let root = NaiveTree.root(leaves[..<size])
            #expect(frontier.root == root)
            let nodes = NaiveNodes(leaves: Array(leaves[..<size]))
            for index in 0..<size {
                let path = nodes.inclusion(of: index, size: size)
                #expect(path == NaiveTree.path(index, leaves[..<size]))
                #expect(TreeProof.root(leaf: .leaf(leaves[index]), index: index, size: size, proof: path) == root)
            }
            for old in 0...size {
                let proof = nodes.consistency(old: old, new: size)
                let oldRoot = NaiveTree.root(leaves[..<old])
                #expect(TreeProof.isConsistent(old: old, oldRoot: oldRoot, new: size, newRoot: root, proof: proof))
            }
        }
    }

    @Test func `A proof that was changed, cut or lengthened does not hold`() {
        let leaves = (0..<11).map { [UInt8($0)] }
        let nodes = NaiveNodes(leaves: leaves)
        let root = NaiveTree.root(leaves[...])
        let other = Digest.leaf([99])
        for index in leaves.indices {
            let path = nodes.inclusion(of: index, size: 11)
            for at in path.indices {
                var changed = path
                changed[at] = other
                #expect(TreeProof.root(leaf: .leaf(leaves[index]), index: index, size: 11, proof: changed) != root)
            }
            #expect(TreeProof.root(leaf: .leaf(leaves[index]), index: index, size: 11, proof: Array(path.dropLast())) != root)
            #expect(TreeProof.root(leaf: .leaf(leaves[index]), index: index, size: 11, proof: path + [other]) != root)
            #expect(TreeProof.root(leaf: .leaf(leaves[index]), index: (index + 1) % 11, size: 11, proof: path) != root)
        }
        for old in 1..<11 {
            let proof = nodes.consistency(old: old, new: 11)
            let oldRoot = NaiveTree.root(leaves[..<old])
            #expect(!TreeProof.isConsistent(old: old, oldRoot: other, new: 11, newRoot: root, proof: proof))
            #expect(!TreeProof.isConsistent(old: old, oldRoot: oldRoot, new: 11, newRoot: other, proof: proof))
            #expect(!TreeProof.isConsistent(old: old, oldRoot: oldRoot, new: 11, newRoot: root, proof: Array(proof.dropLast())))
            #expect(!TreeProof.isConsistent(old: old, oldRoot: oldRoot, new: 11, newRoot: root, proof: proof + [other]))
        }
    }

    @Test func `A leaf of any length has the hash of its bytes after a zero`() {
        for count in 0...300 {
            let leaf = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(Digest.leaf(leaf) == Digest(of: [0] + leaf))
        }
        #expect(hex(Digest(of: Array("abc".utf8))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
