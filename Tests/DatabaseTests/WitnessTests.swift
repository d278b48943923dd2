import Foundation
import Platform
import Testing

@testable import Database

@Suite("The witness of a database")
struct WitnessTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
        init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func record(_ sequence: Int64, _ counts: Int = 2) -> WitnessRecord {
        WitnessRecord(
            application: 1, version: 3, database: -9, sequence: sequence,
            counts: (0..<counts).map { WitnessRecord.Count(key: UInt64($0 + 1), came: sequence + Int64($0), gone: Int64($0)) })
    }

    @Test("returns the last record that was written, even after it is opened again, and is private to its owner")
    func writes() throws {
        let folder = Folder()
        let path = Witness.path(beside: folder.path + "/spool-x.sqlite")
        #expect(path == folder.path + "/spool-x.witness")
        #expect(Witness.look(path) == .missing)
        let first = try Witness(path, making: record(0))
        #expect(Witness.look(path) == .found(record(0)))
        for sequence in 1...5 as ClosedRange<Int64> {
            try first.write(record(sequence))
            #expect(Witness.look(path) == .found(record(sequence)))
        }
        let second = try Witness(path)
        try second.write(record(6))
        #expect(Witness.look(path) == .found(record(6)))
        var destroyed = record(7)
        destroyed.isDestroyed = true
        try second.write(destroyed)
        try second.sync()
        #expect(Witness.look(path) == .found(destroyed))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600 && attributes[.size] as? Int == 2 * Witness.slotSize)
    }

    @Test("falls back to the previous record if the last write was cut off anywhere, and is damaged if both records are")
    func torn() throws {
        let folder = Folder()
        let path = folder.path + "/x.witness"
        let witness = try Witness(path, making: record(0))
        try witness.write(record(1))
        let whole = try #require(FileManager.default.contents(atPath: path))
        try witness.write(record(2))
        let next = try #require(FileManager.default.contents(atPath: path))
        let length = try #require((0..<next.count).last { next[$0] != whole[$0] }) + 1
        for cut in stride(from: 0, to: length, by: 3) {
            try (next[..<cut] + whole[cut...]).write(to: URL(fileURLWithPath: path))
            #expect(Witness.look(path) == .found(record(1)))
        }
        for bit in stride(from: 0, to: 8 * length, by: 5) {
            var bytes = next
            bytes[bit / 8] ^= 1 << (bit % 8)
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(Witness.look(path) == .found(record(1)))
        }
        for bytes in [Data(), Data(next[..<100]), Data(next[..<5000]), Data(count: next.count)] {
            try bytes.write(to: URL(fileURLWithPath: path))
            let isWhole = bytes.count == 5000
            #expect(Witness.look(path) == (isWhole ? .found(record(2)) : .damaged("\(path): is damaged")), "\(bytes.count)")
        }
    }

    @Test("sums up the counts that do not fit into a slot, and loses none of them")
    func many() throws {
        let folder = Folder()
        let path = folder.path + "/x.witness"
        let many = record(3, 1000)
        _ = try Witness(path, making: many)
        guard case .found(let found) = Witness.look(path) else {
            Issue.record("the witness is not found")
            return
        }
        #expect(found.counts.count == Witness.mostCounts && found.counts.last?.key == 0)
        #expect(found.counts.reduce(0) { $0 + $1.came } == many.counts.reduce(0) { $0 + $1.came })
        #expect(found.counts.reduce(0) { $0 + $1.gone } == many.counts.reduce(0) { $0 + $1.gone })
    }

    @Test("does not follow a link, and replaces it")
    func links() throws {
        let folder = Folder()
        let path = folder.path + "/x.witness"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/elsewhere")
        if case .damaged = Witness.look(path) {} else { Issue.record("a link was followed") }
        #expect(throws: StorageFault.self) { try Witness(path) }
        // A new witness replaces the link itself.
        _ = try Witness(path, making: record(0))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/elsewhere"))
        #expect(Witness.look(path) == .found(record(0)))
    }
}
