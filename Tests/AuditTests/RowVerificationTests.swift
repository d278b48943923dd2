// The verification of many blocks of rows, which several threads share: its faults come in the order of the entries.

import Audit
import MerkleLog
import Platform
import Testing

@Suite("The rows of a trail with many blocks")
struct RowVerificationTests {
    private let folder = Folder()
    private static let width = 20
    private static let rowsInBlock = 500
    private static let blockBytes = width * rowsInBlock
    private static let blocks = 300

    /// Writes a trail with an entry for each block of rows. Every fiftieth block is in a file of its own, "1"; the others are in "0".
    private func makeTrailOfRows() throws {
        let trail = try makeTrail(folder)
        let files = TrailFiles(folder.path)
        try TrailFiles.makeFolder(folder.path + "/verdicts")
        var contents: [String: [UInt8]] = ["0": [], "1": []]
        var entries: [[UInt8]] = []
        for block in 0..<RowVerificationTests.blocks {
            let rows = (0..<RowVerificationTests.blockBytes).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ block) }
            let name = block % 50 == 49 ? "1" : "0"
            let root = StrictBase64.encode(VerdictFiles.root(rows, width: RowVerificationTests.width).bytes)
            let offset = contents[name]!.count
            contents[name]! += rows
            entries.append(
                Array(
                    """
                    {"kind":"verdicts","events":500,"rows":500,"file":"\(name)","offset":\(offset),"width":20,"root":"\(root)"}
                    """.utf8))
        }
        for (name, bytes) in contents { write(files.verdicts(name), bytes) }
        for first in stride(from: 0, to: entries.count, by: 100) { _ = try trail.append(Array(entries[first..<first + 100])) }
    }

    @Test func `Whole blocks are counted once each`() throws {
        try makeTrailOfRows()
        let findings = try verified(folder)
        #expect(findings.faults == [])
        #expect(findings.verdicts == RowVerificationTests.blocks * RowVerificationTests.rowsInBlock)
        #expect(findings.bytes > RowVerificationTests.blocks * RowVerificationTests.blockBytes)
    }

    @Test func `Changed blocks and changed entries are listed in the order of the entries, and missing blocks at the end`() throws {
        try makeTrailOfRows()
        let files = TrailFiles(folder.path)
        // The entries 0 to 48 have the blocks 0 to 48 of file 0, and entry 50 has block 49.
        var rows = read(files.verdicts("0"))
        for block in [0, 3, 48, 49, 200, 290] { rows[block * RowVerificationTests.blockBytes + 77] ^= 1 }
        write(files.verdicts("0"), rows)
        // File 1 loses its last block, which is the one of entry 299.
        write(files.verdicts("1"), Array(read(files.verdicts("1")).dropLast()))
        var bundle = read(files.bundle(0))
        let place = try #require(bundle.withUnsafeBytes { Tiles.entries($0, most: 3) }.last)
        bundle[place.upperBound - 1] = 0x20
        write(files.bundle(0), bundle)
        let changed = { (entry: Int) in "\(files.verdicts("0")): the verdicts of entry \(entry) were changed" }
        let findings = try verified(folder)
        // An entry that is no JSON any more names no rows.
        #expect(
            findings.faults == [
                changed(0), "entry 2 was changed, or its hash in \(files.tile(0, 0))", changed(3), changed(48), changed(50), changed(204),
                changed(295), "\(files.checkpoint): the entries do not make up the signed head of 300 entries",
                "\(files.verdicts("1")): the verdicts of entry 299 are missing or cut off",
            ])
        #expect(findings.verdicts == (RowVerificationTests.blocks - 2) * RowVerificationTests.rowsInBlock)
    }
}
