import Glibc
import Platform
import Testing

@testable import Sending

@Suite("The checkpoint of the sender")
struct CheckpointTests {
    private func place(_ descriptor: Int32, _ offset: Int, _ line: Int) throws -> Checkpoint.Place {
        Checkpoint.Place(mark: try FileMark(descriptor, upTo: offset), offset: offset, line: line)
    }

    @Test("what was written is found again, separately for each file")
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

    @Test("a file that was rewritten, truncated or replaced is read from its beginning, and a file that has grown is not")
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

    @Test("the checkpoint of another router, and a file that is not a checkpoint, are refused with a message")
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
                "\(path): is the checkpoint for sending to http://x; name another file",
                "\(folder.path)/a: is not a checkpoint of switchyard send; remove it to begin again, or name another file",
            ])
        close(a)
    }

    @Test("a file that was rewritten with the same beginning is read from its beginning")
    func sameBeginning() throws {
        let folder = Folder()
        let head = String(repeating: "h", count: 2047) + "\n"
        let a = folder.file("a", head + "one\ntwo\n")
        let checkpoint = try Checkpoint(folder.path + "/checkpoint", target: "http://x")
        try checkpoint.move(to: place(a, 2056, 3))
        let again = try Checkpoint(folder.path + "/checkpoint", target: "http://x")
        #expect(again.place(of: a)?.offset == 2056)
        let other = head + "ten\nsix\nsome more\n"
        ftruncate(a, 0)
        pwrite(a, other, other.utf8.count, 0)
        #expect(again.place(of: a) == nil)
        close(a)
    }

    @Test("a changed byte is refused, and never leads to another place")
    func damaged() throws {
        let folder = Folder()
        let a = folder.file("a", "one\ntwo\n")
        let path = folder.path + "/checkpoint"
        let right = try place(a, 4, 1)
        try Checkpoint(path, target: "http://x").move(to: right)
        let number = open(path, O_RDWR)
        var text = [UInt8](repeating: 0, count: 4096)
        let count = read(number, &text, text.count)
        text.removeLast(text.count - count)
        for at in text.indices {
            for bit in 0..<8 {
                var byte = text[at] ^ 1 << UInt8(bit)
                pwrite(number, &byte, 1, off_t(at))
                // A change of the whitespace between two members is not damage.
                guard let found = try? Checkpoint(path, target: "http://x").place(of: a) else { continue }
                #expect(found == right, "bit \(bit) of byte \(at)")
            }
            pwrite(number, [text[at]], 1, off_t(at))
        }
        let digit = try #require(String(decoding: text, as: UTF8.self).utf8Offset(of: "\"offset\":4"))
        pwrite(number, "5", 1, off_t(digit + 9))
        var words = ""
        do { _ = try Checkpoint(path, target: "http://x") } catch { words = error.message }
        #expect(words == "\(path): is a damaged checkpoint of switchyard send; remove it to begin again, or name another file")
        for number in [a, number] { close(number) }
    }

    @Test("a checkpoint of a newer version is refused, and one of version 1 is read")
    func versions() throws {
        let folder = Folder()
        let a = folder.file("a", "one\ntwo\n")
        let path = folder.path + "/checkpoint"
        close(folder.file("checkpoint", #"{"version":3,"to":"http://x","files":{}}"#))
        var words = ""
        do { _ = try Checkpoint(path, target: "http://x") } catch { words = error.message }
        #expect(words == "\(path): is of version 3, this program knows 2; run the newer program, or name another file")
        let mark = try FileMark(a, upTo: 4)
        let known = "\"device\":\"\(mark.device)\",\"inode\":\"\(mark.number)\",\"begins\":4,\"hash\":\"\(mark.hash)\""
        let file = "{\(known),\"offset\":4,\"line\":1}"
        close(folder.file("checkpoint", "{\"to\":\"http://x\",\"files\":[\n\(file)\n]}\n"))
        #expect(try Checkpoint(path, target: "http://x").place(of: a) == place(a, 4, 1))
        close(a)
    }

    @Test("a byte order mark at the beginning does not damage an event, and elsewhere it is part of a line")
    func mark() throws {
        let folder = Folder()
        let a = folder.file("a", "\u{feff}one\n\u{feff}two\n")
        var batch = LineBatch()
        #expect(try LineBatches(a).next(&batch) && batch.bytes == Array("one\n\u{feff}two\n".utf8))
        #expect(batch.ends.map(\.offset) == [7, 14] && batch.ends.map(\.at) == [4, 11])
        #expect(try LineBatches(a, from: 7, after: 1).next(&batch) && batch.bytes == Array("\u{feff}two\n".utf8))
        let b = folder.file("b", "\u{feff}")
        let isThere = try LineBatches(b).next(&batch)
        #expect(!isThere)
        for number in [a, b] { close(number) }
    }

    @Test("lines continue from the place of a checkpoint, and an unfinished line waits if that is requested")
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

    @Test("a checkpoint is never in the middle of a line that is too long")
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

extension String {
    fileprivate func utf8Offset(of text: String) -> Int? {
        let (all, wanted) = (Array(utf8), Array(text.utf8))
        return all.indices.first { all[$0...].starts(with: wanted) }
    }
}
