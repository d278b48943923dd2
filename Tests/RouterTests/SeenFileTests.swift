// Tests for the file of recent message ids: over restarts, after a kill in a write, and on a folder that fails.

import Admission
import Foundation
import Glibc
import Judging
import Platform
import Testing

@testable import Router

@Suite("The file of recent message ids")
struct SeenFileTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
        let said = Monitor<[String]>([])
        init() { mkdir(path, 0o700) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        var file: String { path + "/seen" }
        func open(most: Int) -> SeenFile {
            SeenFile(file, most: most) { [said] line in said.withLock { $0.append(line) } }
        }
        func bytes(_ end: String = "") -> Data { FileManager.default.contents(atPath: file + end) ?? Data() }
        func append(_ bytes: Data) throws {
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
            try handle.seekToEnd()
            try handle.write(contentsOf: bytes)
            try handle.close()
        }
    }

    private static let size = MemoryLayout<SeenIDs.Sighting>.size

    private func sightings(_ range: Range<Int>) -> [SeenIDs.Sighting] {
        range.map { SeenIDs.Sighting(key: SubjectKey(high: UInt64($0), low: ~UInt64($0)), time: Int64($0) * 1000) }
    }

    @Test("gives back in the next run what was added, oldest first, and only its owner can read it")
    func recalls() {
        let folder = Folder()
        let first = folder.open(most: 100)
        #expect(first.recall() == [])
        first.append(sightings(0..<3))
        first.append([])
        first.append(sightings(3..<4))
        #expect(folder.open(most: 100).recall() == sightings(0..<4))
        var status = stat()
        #expect(stat(folder.file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(folder.said.withLock { $0 } == [])
    }

    @Test("never holds many more ids than are remembered, in this run and over restarts, and keeps the newest")
    func alternates() {
        let folder = Folder()
        for run in 0..<10 {
            let file = folder.open(most: 10)
            let known = file.recall()
            for id in run * 7..<(run + 1) * 7 { file.append(sightings(id..<id + 1)) }
            #expect(known == sightings(max(0, run * 7 - known.count)..<run * 7) && known.count >= min(10, run * 7), "\(run)")
            #expect(folder.bytes().count + folder.bytes(".old").count <= 20 * Self.size)
        }
        #expect(folder.open(most: 10).recall().last == sightings(69..<70).last)
    }

    @Test("gives back the newest ids if fewer are to be remembered than the last run has written")
    func fewer() {
        let folder = Folder()
        folder.open(most: 1000).append(sightings(0..<500))
        let file = folder.open(most: 10)
        #expect(file.recall() == sightings(480..<500))
        // The file is full now, and the next ids begin a new one.
        file.append(sightings(500..<501))
        #expect(folder.bytes().count == Self.size && folder.bytes(".old").count == 500 * Self.size)
        #expect(folder.open(most: 10).recall() == sightings(480..<501))
    }

    @Test("skips an incomplete record that a kill has left, and writes the next one in its place", arguments: [1, 9, 23])
    func torn(rest: Int) throws {
        let folder = Folder()
        folder.open(most: 100).append(sightings(0..<2))
        try folder.append(Data(repeating: 0xee, count: rest))
        let file = folder.open(most: 100)
        #expect(file.recall() == sightings(0..<2))
        file.append(sightings(2..<4))
        #expect(folder.bytes().count == 4 * Self.size)
        #expect(folder.open(most: 100).recall() == sightings(0..<4))
    }

    @Test("that cannot be written is reported once, and is written again as soon as it can be")
    func fails() throws {
        let folder = Folder()
        let file = folder.open(most: 100)
        file.append(sightings(0..<1))
        try FileManager.default.removeItem(atPath: folder.path)
        // The open file can still be written to, but the next one cannot be made.
        let next = folder.open(most: 100)
        for id in 1..<4 { next.append(sightings(id..<id + 1)) }
        let words = "\(folder.file): message ids cannot be kept: No such file or directory; after a restart some duplicates may pass"
        #expect(folder.said.withLock { $0 } == [words])
        mkdir(folder.path, 0o700)
        next.append(sightings(4..<5))
        #expect(folder.open(most: 100).recall() == sightings(4..<5))
        #expect(folder.said.withLock { $0.count } == 1)
        // A fault after a success is a new one.
        try FileManager.default.removeItem(atPath: folder.path)
        let later = folder.open(most: 1)
        later.append(sightings(5..<6))
        #expect(folder.said.withLock { $0 } == [words, words])
    }

    @Test("is not read or written through a link")
    func links() throws {
        let folder = Folder()
        let other = folder.path + "/other"
        #expect(FileManager.default.createFile(atPath: other, contents: Data(repeating: 7, count: 2 * Self.size)))
        symlink(other, folder.file)
        let file = folder.open(most: 100)
        #expect(file.recall() == [])
        file.append(sightings(0..<1))
        #expect(FileManager.default.contents(atPath: other) == Data(repeating: 7, count: 2 * Self.size))
        #expect(folder.said.withLock { $0.count } == 1)
    }
}
