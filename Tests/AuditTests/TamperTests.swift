// What the verification finds: changes, deletions, swaps and cuts in a trail of 1,000 entries, wherever they are.

import Audit
import Glibc
import MerkleLog
import Platform
import Seeded
import TestSupport
import Testing

@Suite("A trail that was tampered with")
struct TamperTests {
    private let folder = Folder()
    private let head: [UInt8]
    private let files: TrailFiles

    init() throws {
        let trail = try makeTrail(folder)
        for first in stride(from: 0, to: 1000, by: 125) { _ = try trail.append(someEntries(125, from: first)) }
        head = trail.checkpoint
        files = TrailFiles(folder.path)
        #expect(try verified(folder, kept: head).faults == [])
    }

    /// The files whose bytes count.
    private var paths: [String] { folder.files.filter { !$0.hasSuffix("/lock") } }

    /// `make tamper` tries every byte of every file.
    @Test func `A change of a byte of any file is found`() throws {
        var random = Seeded(state: 11)
        for path in paths {
            let bytes = read(path)
            for _ in 0..<rounds(25) {
                let at = random.below(bytes.count)
                var changed = bytes
                changed[at] ^= UInt8(1 << random.below(8))
                write(path, changed)
                #expect(try !verified(folder).isWhole, "\(path): byte \(at)")
            }
            write(path, bytes)
        }
        #expect(try verified(folder).isWhole)
    }

    @Test func `A file that is missing or cut off is found, at any length`() throws {
        var random = Seeded(state: 12)
        for path in paths {
            let bytes = read(path)
            for _ in 0..<rounds(10) {
                write(path, Array(bytes[..<random.below(bytes.count)]))
                #expect(try !verified(folder).isWhole, "\(path)")
            }
            unlink(path)
            #expect(try !verified(folder).isWhole, "\(path)")
            write(path, bytes)
        }
    }

    @Test func `An entry that is deleted, doubled, swapped or rewritten is found, also together with the tiles`() throws {
        var random = Seeded(state: 13)
        for round in 0..<rounds(60) {
            let bundle = random.below(4)
            let path = bundle == 3 ? files.tail(3) : files.bundle(bundle)
            let bytes = read(path)
            var entries = bytes.withUnsafeBytes { bytes in Tiles.entries(bytes).map { [UInt8](bytes[$0]) } }
            let at = random.below(entries.count - 1)
            switch round % 4 {
            case 0: entries.remove(at: at)
            case 1: entries.insert(entries[at], at: at)
            case 2: entries.swapAt(at, at + 1)
            default: entries[at] = Array(#"{"kind":"access","number":-1}"#.utf8)
            }
            var changed: [UInt8] = []
            for entry in entries.prefix(256) { Tiles.append(entry, to: &changed) }
            write(path, changed)
            #expect(try !verified(folder).isWhole)
            if bundle < 3, entries.count >= 256 {
                // The tile fits the changed entries. The signed head does not.
                let tile = files.tile(0, bundle)
                let whole = read(tile)
                write(tile, Tiles.bytes(entries.prefix(256).map { Digest.leaf($0) }))
                #expect(try !verified(folder).isWhole)
                write(tile, whole)
            }
            write(path, bytes)
        }
    }

    @Test func `A changed entry is named by its number`() throws {
        let path = files.bundle(1)
        var bytes = read(path)
        let place = bytes.withUnsafeBytes { Tiles.entries($0)[100] }
        bytes[place.lowerBound + 10] ^= 1
        write(path, bytes)
        #expect(try verified(folder).faults.first?.hasPrefix("entry 356 was changed") == true)
    }

    /// Whoever can sign nothing can still put an older state of the whole folder in its place.
    @Test func `A loss at the end is found by a head that was kept elsewhere`() throws {
        let (older, tail) = (read(files.checkpoint), read(files.tail(3)))
        let trail = try makeTrail(folder)
        _ = try trail.append(someEntries(3, from: 1000))
        let kept = trail.checkpoint
        #expect(try verified(folder, kept: older).isWhole)
        #expect(try verified(folder, kept: kept).isWhole)
        write(files.checkpoint, older)
        write(files.tail(3), tail)
        #expect(try verified(folder).isWhole)
        #expect(try verified(folder, kept: kept).faults.first?.contains("the last ones are lost") == true)
    }

    @Test func `A trail that was written anew with the key is found by a head that was kept elsewhere`() throws {
        let other = Folder()
        _ = try makeTrail(other).append(someEntries(999, from: 1) + someEntries(1))
        #expect(try verified(other).isWhole)
        #expect(try !verified(other, kept: head).isWhole)
    }

    @Test func `A head that was forged is no head`() throws {
        var forged = head
        forged[20] ^= 1
        #expect(try !verified(folder, kept: forged).isWhole)
        #expect(try !verified(folder, kept: []).isWhole)
    }
}
