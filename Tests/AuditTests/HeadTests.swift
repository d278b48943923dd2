// The publication of heads: to a file, and through a command to a witness.

import Audit
import Glibc
import MerkleLog
import Platform
import Testing

@Suite("The publication of heads")
struct HeadTests {
    private let witness = SigningKey(seed: [UInt8](repeating: 9, count: 32))

    /// A command may end without reading, as in the router, which ignores the signal too.
    init() { signal(SIGPIPE, SIG_IGN) }

    private var witnessKey: NoteKey { NoteKey(name: "witness.example/w1", .cosignature, publicKey: witness.publicKey)! }

    /// The line by which the witness signs the head.
    private func signature(_ note: SignedNote) -> String {
        let time: UInt64 = 1_700_000_000
        let stamp = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        let bytes = witness.sign(Array("cosignature/v1\ntime \(time)\n\(note.text)".utf8))
        return NoteSignature(name: witnessKey.name, id: witnessKey.id, bytes: stamp + bytes).line
    }

    private func publisher(_ folder: Folder, _ settings: HeadPublisher.Settings, _ said: Monitor<[String]> = Monitor([])) -> HeadPublisher {
        HeadPublisher(TrailFiles(folder.path), keys: testKeys, settings, clock: .system) { line in said.withLock { $0.append(line) } }
    }

    @Test func `A new head is written to the file, and a trail that was set back does not fit it`() throws {
        let (folder, elsewhere, older) = (Folder(), Folder(), Folder())
        var settings = HeadPublisher.Settings()
        settings.file = elsewhere.path + "/head"
        let heads = publisher(folder, settings)
        let trail = try makeTrail(folder)
        _ = try makeTrail(older).append(someEntries(5))
        _ = try trail.append(someEntries(5))
        heads.publish()
        #expect(read(settings.file!) == trail.checkpoint)
        _ = try trail.append(someEntries(5, from: 5))
        try heads.checkFile()
        heads.publish()
        #expect(read(settings.file!) == trail.checkpoint)
        #expect(try verified(folder, kept: read(settings.file!)).isWhole)
        #expect(throws: StorageFault.self) { try publisher(older, settings).checkFile() }
    }

    /// The shell is the witness: it keeps what it is asked, says once that it knows a head of five entries, and then signs.
    @Test func `A witness gets a proof from the head that it knows, and its signature is kept with the head`() throws {
        let (folder, elsewhere) = (Folder(), Folder())
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(5))
        let old = trail.root
        _ = try trail.append(someEntries(8, from: 5))
        let note = try #require(SignedNote(trail.checkpoint))
        write(elsewhere.path + "/answer", Array(signature(note).utf8))
        var settings = HeadPublisher.Settings()
        settings.witnesses = [witnessKey]
        settings.command = [
            "/bin/sh", "-c", "cd '\(elsewhere.path)'; if [ -e first ]; then cat > second; cat answer; else cat > first; echo 5; fi",
        ]
        publisher(folder, settings).publish()
        let first = String(decoding: read(elsewhere.path + "/first"), as: UTF8.self)
        let second = String(decoding: read(elsewhere.path + "/second"), as: UTF8.self)
        #expect(first == "old 0\n\n" + String(decoding: trail.checkpoint, as: UTF8.self))
        let parts = second.split(separator: "\n\n", maxSplits: 1)
        let lines = parts[0].split(separator: "\n")
        #expect(lines[0] == "old 5")
        let proof = lines.dropFirst().map { Digest(StrictBase64.decode(Array($0.utf8))!)! }
        #expect(TreeProof.isConsistent(old: 5, oldRoot: old, new: 13, newRoot: trail.root, proof: proof))
        let cosigned = try #require(SignedNote(read(TrailFiles(folder.path).cosigned)))
        #expect(cosigned.standing(witnessKey) == .signed && cosigned.text == note.text)
        #expect(try verified(folder, kept: cosigned.bytes).isWhole)
    }

    @Test func `A witness that says an impossible size is asked no further`() throws {
        for size in ["-1", "6", "99999999999999999999"] {
            let folder = Folder()
            _ = try makeTrail(folder).append(someEntries(5))
            let said = Monitor<[String]>([])
            var settings = HeadPublisher.Settings()
            settings.witnesses = [witnessKey]
            settings.command = ["/bin/sh", "-c", "cat > /dev/null; echo \(size)"]
            publisher(folder, settings, said).publish()
            #expect(said.withLock { $0.count } == 1, "\(size)")
        }
    }

    @Test func `A signature that is not the witness's is not taken, and the failure is reported once`() throws {
        let folder = Folder()
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(5))
        var other = try #require(SignedNote(trail.checkpoint))
        other.text = Checkpoint(origin: testKeys.origin, size: 6, root: trail.root).text
        let said = Monitor<[String]>([])
        var settings = HeadPublisher.Settings()
        settings.witnesses = [witnessKey]
        settings.command = ["/bin/sh", "-c", "cat > /dev/null; printf '%s' '\(signature(other))'"]
        let heads = publisher(folder, settings, said)
        heads.publish()
        heads.publish()
        #expect(said.withLock { $0.count } == 1)
        #expect(access(TrailFiles(folder.path).cosigned, F_OK) != 0)
        settings.command = ["/bin/false"]
        publisher(folder, settings, said).publish()
        settings.command = ["/no/such/program"]
        publisher(folder, settings, said).publish()
        #expect(said.withLock { $0.count } == 3)
    }
}
