// The files of a trail: what an append leaves, what the next opening makes of an append that was cut off, and what two writers do.

import Audit
import Glibc
import MerkleLog
import Platform
import Testing

@Suite("The files of an audit trail")
struct TrailTests {
    @Test(arguments: [1, 2, 255, 256, 257, 1000])
    func `A trail of any size verifies, and its root is that of its entries`(_ size: Int) throws {
        let folder = Folder()
        let trail = try makeTrail(folder)
        let entries = someEntries(size)
        for first in stride(from: 0, to: size, by: 100) {
            #expect(try trail.append(Array(entries[first..<min(first + 100, size)])).lowerBound == first)
        }
        #expect(trail.root == Frontier.root(of: entries.map { Digest.leaf($0) }))
        let findings = try verified(folder)
        #expect(findings.faults == [])
        #expect(findings.notes == [])
        #expect(findings.entries == size)
        let reader = try #require(try TrailReader(TrailFiles(folder.path), keys: testKeys.all))
        for index in 0..<size { #expect(try reader.entry(index) == entries[index]) }
    }

    @Test func `A trail that is opened again goes on where it was, at every size`() throws {
        let folder = Folder()
        let entries = someEntries(600)
        for index in entries.indices {
            let trail = try makeTrail(folder)
            #expect(trail.size == index)
            _ = try trail.append([entries[index]])
        }
        #expect(try makeTrail(folder).root == Frontier.root(of: entries.map { Digest.leaf($0) }))
        #expect(try verified(folder).faults == [])
    }

    @Test func `Entries that no signed head counts are cut off by the next append`() throws {
        let folder = Folder()
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(10))
        let tail = TrailFiles(folder.path).tail(0)
        var forged = read(tail)
        Tiles.append(Array(#"{"kind":"access","forged":true}"#.utf8), to: &forged)
        write(tail, forged + [0, 9, 1])
        #expect(try verified(folder).faults == [])
        let next = try makeTrail(folder)
        #expect(next.size == 10)
        _ = try next.append(someEntries(1, from: 10))
        #expect(try verified(folder).notes == [])
        let reader = try #require(try TrailReader(TrailFiles(folder.path), keys: testKeys.all))
        #expect(try reader.entry(10) == someEntries(1, from: 10)[0])
    }

    @Test func `A trail whose last entries or hashes do not fit its head is not opened`() throws {
        let folder = Folder()
        let files = TrailFiles(folder.path)
        _ = try makeTrail(folder).append(someEntries(300))
        for path in [files.tail(1), files.tile(0, 0), files.checkpoint] {
            let bytes = read(path)
            var changed = bytes
            changed[bytes.count / 2] ^= 1
            write(path, changed)
            #expect(throws: StorageFault.self) { try makeTrail(folder) }
            write(path, bytes)
        }
        #expect(try makeTrail(folder).size == 300)
    }

    /// A kill may come after the head was written and before a full bundle is in its place.
    @Test func `A full bundle that is not in its place yet is put there by the next opening`() throws {
        let folder = Folder()
        let files = TrailFiles(folder.path)
        _ = try makeTrail(folder).append(someEntries(520))
        for bundle in 0...1 {
            #expect(rename(files.bundle(bundle), files.tail(bundle)) == 0)
            #expect(unlink(files.tile(0, bundle)) == 0)
        }
        #expect(try verified(folder).faults == [])
        let trail = try makeTrail(folder)
        #expect(trail.size == 520)
        #expect(access(files.bundle(1), F_OK) == 0 && access(files.tile(0, 1), F_OK) == 0)
        #expect(try verified(folder).notes == [])
    }

    @Test func `Two writers of one folder take turns, and no entry is lost`() throws {
        let folder = Folder()
        let (one, other) = (try makeTrail(folder), try makeTrail(folder))
        for round in 0..<300 {
            #expect(try one.append(someEntries(1, from: round)) == 2 * round..<2 * round + 1)
            #expect(try other.append(someEntries(1, from: round)) == 2 * round + 1..<2 * round + 2)
        }
        #expect(try verified(folder).faults == [])
        #expect(try verified(folder).entries == 600)
    }

    @Test func `A writer notices that its trail was set back, removed or replaced`() throws {
        let folder = Folder()
        let files = TrailFiles(folder.path)
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(10))
        let (head, tail) = (read(files.checkpoint), read(files.tail(0)))
        _ = try trail.append(someEntries(5, from: 10))
        let newer = read(files.checkpoint)
        write(files.checkpoint, head)
        write(files.tail(0), tail)
        #expect(throws: StorageFault.self) { try trail.append(someEntries(1)) }
        unlink(files.checkpoint)
        #expect(throws: StorageFault.self) { try trail.append(someEntries(1)) }
        #expect(throws: StorageFault.self) { try makeTrail(folder) }
        write(files.checkpoint, newer)
        #expect(throws: StorageFault.self) { try makeTrail(folder) }
    }

    @Test func `The head of another key is not taken, and that of an earlier key is`() throws {
        let folder = Folder()
        _ = try makeTrail(folder).append(someEntries(3))
        let other = AuditKeys(Array("another secret, of the same size".utf8), origin: "example.com/trail")
        #expect(throws: StorageFault.self) { try makeTrail(folder, keys: other) }
        let changed = AuditKeys(
            Array("another secret, of the same size".utf8), previous: [Array("a secret for the audit trail".utf8)],
            origin: "example.com/trail")
        let trail = try makeTrail(folder, keys: changed)
        _ = try trail.append(someEntries(1, from: 3))
        #expect(try verified(folder, keys: changed).faults == [])
        #expect(try !verified(folder).isWhole)
    }

    @Test func `An append to a full disk leaves the trail as it was`() throws {
        let folder = Folder()
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(250))
        // A folder in the place of the next file makes every write to it fail.
        #expect(mkdir(TrailFiles(folder.path).tail(1), 0o700) == 0)
        #expect(throws: StorageFault.self) { try trail.append(someEntries(20, from: 250)) }
        #expect(trail.size == 250)
        #expect(try verified(folder).faults == [])
        rmdir(TrailFiles(folder.path).tail(1))
        _ = try trail.append(someEntries(20, from: 250))
        #expect(try verified(folder).faults == [])
        #expect(trail.size == 270)
    }

    @Test func `An export is the same log, with partial tiles`() throws {
        let folder = Folder()
        let target = Folder()
        _ = try makeTrail(folder).append(someEntries(600))
        let reader = try #require(try TrailReader(TrailFiles(folder.path), keys: testKeys.all))
        _ = try reader.export(to: target.path)
        #expect(
            target.files.map { String($0.dropFirst(target.path.utf8.count + 1)) } == [
                "checkpoint", "tile/0/000", "tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/000", "tile/entries/001",
                "tile/entries/002.p/88",
            ])
        let hashes = someEntries(600).map { Digest.leaf($0) }
        #expect(read(target.path + "/tile/0/002.p/88") == Tiles.bytes(Array(hashes[512...])))
        #expect(
            read(target.path + "/tile/1/000.p/2") == Tiles.bytes([Frontier.root(of: hashes[..<256]), Frontier.root(of: hashes[256..<512])]))
        #expect(throws: StorageFault.self) { try reader.export(to: target.path) }
    }
}
