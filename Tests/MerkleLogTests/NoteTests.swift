// Signed notes and checkpoints, with the examples of their specifications.

import MerkleLog
import Testing

@Suite("A signed note")
struct NoteTests {
    /// The example of C2SP tlog-cosignature, with the keys of the Go implementation's tests left out: it cannot be verified without them, and
    /// must be read and written unchanged.
    private let cosigned = """
        example.com/behind-the-sofa
        20852163
        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
        \u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==

        """

    private let key = SigningKey(seed: [UInt8](repeating: 7, count: 32))

    private func name(_ algorithm: NoteKey.Algorithm = .ed25519) -> NoteKey {
        NoteKey(name: "example.com/log", algorithm, publicKey: key.publicKey)!
    }

    @Test func `The example of the specification is read, and written as it was`() throws {
        let note = try #require(SignedNote(Array(cosigned.utf8)))
        #expect(note.signatures.map(\.name) == ["example.com/behind-the-sofa", "witness.example.com/w1"])
        #expect(note.bytes == Array(cosigned.utf8))
        let head = try #require(Checkpoint(text: note.text))
        #expect(head.origin == "example.com/behind-the-sofa")
        #expect(head.size == 20_852_163)
        #expect(head.text == note.text)
    }

    @Test func `The note of the Go module system's documentation verifies under its key`() throws {
        // From the documentation of golang.org/x/mod/sumdb/note.
        let verifier = try #require(NoteKey("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"))
        let text = """
            If you think cryptography is the answer to your problem,
            then you don't know what your problem is.

            \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=

            """
        let note = try #require(SignedNote(Array(text.utf8)))
        #expect(note.standing(verifier) == .signed)
        #expect(verifier.description == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    }

    @Test func `Every change of one byte of a signed head is noticed`() throws {
        var note = SignedNote(text: Checkpoint(origin: "example.com/log", size: 1234, root: .leaf([1])).text)
        note.sign(key, as: name())
        let bytes = note.bytes
        #expect(SignedNote(bytes)?.standing(name()) == .signed)
        for at in bytes.indices {
            for change in [UInt8(0x01), 0x20, 0x80, 0xff] {
                var changed = bytes
                changed[at] ^= change
                #expect(SignedNote(changed)?.standing(name()) != .signed, "byte \(at)")
            }
        }
        for count in 0..<bytes.count { #expect(SignedNote(Array(bytes[..<count]))?.standing(name()) != .signed) }
    }

    @Test func `A cosignature is over a header, its time and the text`() throws {
        var note = SignedNote(text: Checkpoint(origin: "example.com/log", size: 3, root: .leaf([1])).text)
        let time: UInt64 = 1_679_315_147
        let signature = key.sign(Array("cosignature/v1\ntime \(time)\n\(note.text)".utf8))
        let stamp = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        note.signatures.append(NoteSignature(name: "example.com/log", id: name(.cosignature).id, bytes: stamp + signature))
        let read = try #require(SignedNote(note.bytes))
        #expect(read.standing(name(.cosignature)) == .signed)
        #expect(read.standing(name()) == .unsigned)
        note.signatures[0].bytes[7] ^= 1
        #expect(note.standing(name(.cosignature)) == .forged)
    }

    @Test func `Only the one allowed spelling of base64 is read`() {
        #expect(StrictBase64.decode(Array("AAE=".utf8)) == [0, 1])
        #expect(StrictBase64.decode(Array("AA==".utf8)) == [0])
        for text in ["AAF=", "AB==", "AAE", "A===", "====", "AA=A", "AAE=AAAA", "AA E", "AAE=\n"] {
            #expect(StrictBase64.decode(Array(text.utf8)) == nil, "\(text)")
        }
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8($0 &* 37 & 0xff) }
            #expect(StrictBase64.decode(Array(StrictBase64.encode(bytes).utf8)) == bytes)
        }
    }

    @Test func `A text is no checkpoint if its size or its root is spelled in another way`() {
        let root = StrictBase64.encode(Digest.leaf([]).bytes)
        #expect(Checkpoint(text: "log\n7\n\(root)\n")?.size == 7)
        for text in [
            "log\n07\n\(root)\n", "log\n+7\n\(root)\n", "log\n-7\n\(root)\n", "log\n7\n\(root)", "\n7\n\(root)\n", "log\n7\nAAAA\n",
            "log\n7\n",
        ] {
            #expect(Checkpoint(text: text) == nil, "\(text)")
        }
    }

    @Test func `The paths of tiles are those of the specification`() {
        #expect(Tiles.path(level: 0, index: 1_234_067) == "tile/0/x001/x234/067")
        #expect(Tiles.path(level: nil, index: 7) == "tile/entries/007")
        #expect(Tiles.path(level: 1, index: 0, width: 17) == "tile/1/000.p/17")
        // The example of a tree of 70,000 entries.
        #expect((0...2).map { Tiles.fullCount(level: $0, size: 70_000) } == [273, 1, 0])
        #expect((0...2).map { Tiles.partialWidth(level: $0, size: 70_000) } == [112, 17, 1])
    }
}
