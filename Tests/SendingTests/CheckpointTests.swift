import Glibc
import Platform
import Testing

@testable import Sending

@Suite("The checkpoint of a sending")
struct CheckpointTests {
    private func place(_ descriptor: Int32, _ offset: Int, _ line: Int) throws -> Checkpoint.Place {
        Checkpoint.Place(mark: try FileMark(descriptor, upTo: offset), offset: offset, line: line)
    }

    @Test("what was written is found again, for each file its own")
    func again() throws {
        let folder = Folder()
        let (a, b) = (folder.file("a", "one\ntwo\n"), folder.file("b", "three\n"))
        let path = folder.path + "/checkpoint"
        let first = try Checkpoint(path, target: "http://x")
        try first.move(to: place(a, 4, 1))
        try first.move(to: place(b, 6, 1))
        try first.move(to: place(a, 8, 2))
        let second = try Checkpoint(path, target: "http://x")
        #expect(second.place(of: a)?.offset == 8 && second.place(of: a)?.line == 2 && second.place(of: b)?.offset == 6)
        #expect(folder.names.sorted() == ["a", "b", "checkpoint"])
        for number in [a, b] { close(number) }
    }

    @Test("a file that was written anew, cut off or replaced is read from its beginning, and one that has grown is not")
    func changed() throws {
        let folder = Folder()
        let a = folder.file("a", "one\ntwo\n")
        let checkpoint = try Checkpoint(folder.path + "/checkpoint", target: "http://x")
        try checkpoint.move(to: place(a, 4, 1))
        lseek(a, 0, SEEK_END)
        write(a, "three\n", 6)
        #expect(checkpoint.place(of: a)?.offset == 4)
        pwrite(a, "ONE", 3, 0)
        #expect(checkpoint.place(of: a) == nil)
        pwrite(a, "one", 3, 0)
        ftruncate(a, 2)
        #expect(checkpoint.place(of: a) == nil)
        let b = folder.file("b", "one\ntwo\n")
        #expect(checkpoint.place(of: b) == nil)
        for number in [a, b] { close(number) }
    }

    @Test("the checkpoint of another router, and what is none, are refused in words")
    func refused() throws {
        let folder = Folder()
        let a = folder.file("a", "one\n")
        let path = folder.path + "/checkpoint"
        try Checkpoint(path, target: "http://x").move(to: place(a, 4, 1))
        var words: [String] = []
        do { _ = try Checkpoint(path, target: "http://y") } catch { words.append(error.message) }
        do { _ = try Checkpoint(folder.path + "/a", target: "http://y") } catch { words.append(error.message) }
        #expect(
            words == [
                "\(path): is the checkpoint of sending to http://x; name another file",
                "\(folder.path)/a: is no checkpoint of switchyard send; remove it to begin anew, or name another file",
            ])
        close(a)
    }

    @Test("lines go on from where a checkpoint stands, and one that has not ended waits if it is to")
    func batches() throws {
        let folder = Folder()
        let a = folder.file("a", "one\ntwo\nthr")
        var batch = LineBatch()
        let resumed = LineBatches(a, from: 4, after: 1, waitsForEnd: true)
        #expect(try resumed.next(&batch) && batch.bytes == Array("two\n".utf8) && batch.ends[0].line == 2 && batch.ends[0].offset == 8)
        let isThere = try resumed.next(&batch)
        #expect(!isThere && resumed.leftUnfinished && resumed.safeOffset == 8)
        let whole = LineBatches(a, from: 4, after: 1)
        #expect(try whole.next(&batch) && batch.bytes == Array("two\nthr\n".utf8) && whole.safeOffset == 11)
        close(a)
    }

    @Test("a checkpoint never stands in the middle of a line that is too long")
    func middle() throws {
        let folder = Folder()
        let a = folder.file("a", "one\n" + String(repeating: "x", count: 300_000))
        var limits = LineBatches.Limits()
        limits.line = 10
        let batches = LineBatches(a, limits: limits, waitsForEnd: true)
        var batch = LineBatch()
        while try batches.next(&batch), !batch.ends.isEmpty {}
        #expect(batches.safeOffset == 4)
        close(a)
    }
}
