// Tests files that other processes write, with a clock that only the test advances. Each test takes the steps itself.

import Events
import Glibc
import Plans
import Platform
import Testing

@testable import Ingest

@Suite("Files that other processes write")
struct FileFollowerTests {
    @Test("existing lines are read, then added lines, and an unfinished line waits for its end")
    func growth() {
        let stand = Stand()
        stand.add("1\n2\n3")
        stand.step()
        #expect(stand.sink.taken == ["1", "2"])
        stand.add("3\n4\n")
        stand.add("5\n", to: "b.ndjson")
        stand.add("6\n", to: "b.other")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "33", "4", "5"])
        stand.advance(.seconds(100))
        stand.step()
        #expect(stand.sink.taken.count == 5 && stand.said.withLock { $0 } == [])
    }

    @Test("after a kill, lines without an answer are read again, and answered lines are not")
    func restart() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        stand.sink.state.withLock { $0.holds = true }
        stand.add("2\n")
        stand.advance(.seconds(1))
        stand.step()
        #expect(stand.sink.taken == ["1", "2"])
        // The second line was never answered.
        stand.restart()
        stand.sink.state.withLock { $0.holds = false }
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "2"])
        stand.follower.finish()
        stand.restart()
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "2"])
    }

    @Test("nothing more of a file is read while an answer is outstanding, so the order is kept")
    func order() {
        let stand = Stand()
        stand.sink.state.withLock { $0.holds = true }
        stand.add("1\n")
        stand.step()
        stand.add("2\n")
        stand.step()
        #expect(stand.sink.taken == ["1"])
        stand.sink.answer(.overloaded(retryAfter: 3))
        stand.step()
        #expect(stand.sink.taken == ["1"])
        stand.advance(.seconds(3))
        stand.step()
        #expect(stand.sink.taken == ["1", "1", "2"])
    }

    @Test("lines for a full sink are submitted again, and nothing is lost")
    func full() {
        let stand = Stand()
        stand.sink.state.withLock { $0.isFull = true }
        stand.add("1\n")
        stand.step()
        stand.sink.state.withLock { $0.isFull = false }
        stand.step()
        #expect(stand.sink.taken == [])
        stand.advance(FileFollower.pause)
        stand.step()
        #expect(stand.sink.taken == ["1"])
    }

    @Test("rotation by renaming: the old file is read to its end, and the new one from its beginning")
    func renamed() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        stand.add("2\n")
        rename(stand.path("a.ndjson"), stand.path("a.ndjson.1"))
        stand.add("3\n")
        stand.step()
        stand.add("4\n", to: "a.ndjson.1")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "4"])
        // The file is closed after the idle time, because nobody writes to it any more.
        stand.advance(.seconds(11))
        stand.step()
        stand.add("5\n", to: "a.ndjson.1")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "4"])
    }

    @Test("a file that loses its name while somebody still writes to it is not closed")
    func namelessWritten() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        let writer = open(stand.path("a.ndjson"), O_WRONLY | O_APPEND | O_CLOEXEC)
        unlink(stand.path("a.ndjson"))
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        write(writer, "2\n", 2)
        stand.step()
        #expect(stand.sink.taken == ["1", "2"])
        close(writer)
    }

    @Test("rotation by copying and truncating: the file is read from its beginning again, even if it is larger than before")
    func truncated() {
        let stand = Stand()
        stand.add("1\n2\n")
        stand.step()
        truncate(stand.path("a.ndjson"), 0)
        stand.add("3\n")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3"])
        truncate(stand.path("a.ndjson"), 0)
        stand.add("44\n55\n66\n")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "44", "55", "66"])
        #expect(stand.said.withLock { $0.count } == 2)
    }

    @Test("a new file that has the inode number of an old one is read from its beginning")
    func reused() throws {
        let stand = Stand()
        stand.add("1\n2\n")
        stand.step()
        stand.follower.finish()
        // The number stays the same and the bytes change, as when a file system uses a free number again.
        let number = open(stand.path("a.ndjson"), O_WRONLY | O_CLOEXEC)
        pwrite(number, "8\n9\n", 4, 0)
        close(number)
        stand.restart()
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "8", "9"])
    }

    @Test("blank lines are dropped, and a line over the limit is skipped and reported")
    func overlong() {
        let stand = Stand()
        let long = String(repeating: "x", count: 2000)
        let longer = String(repeating: "y", count: 3 * FollowedFile.blockSize)
        stand.add("1\n\n \r\n\(long)\n2\n\(longer)\n3\n\(longer)")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3"])
        #expect(stand.overlong.withLock { $0 } == [2000, 3 * FollowedFile.blockSize])
        stand.add("\n4\n")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "4"])
        #expect(stand.overlong.withLock { $0.count } == 3)
    }

    @Test("an unreadable file is reported once, and read when it can be opened", .disabled(if: geteuid() == 0, "root may open everything"))
    func forbidden() {
        let stand = Stand()
        stand.add("1\n")
        chmod(stand.path("a.ndjson"), 0)
        stand.step()
        #expect(stand.said.withLock { $0 } == ["logs: \(stand.path("a.ndjson")): cannot be opened: Permission denied"])
        chmod(stand.path("a.ndjson"), 0o600)
        stand.step()
        #expect(stand.sink.taken == ["1"])
    }

    @Test("anything that is not a file is ignored, and a damaged file of places is set aside")
    func others() {
        let stand = Stand()
        mkfifo(stand.path("f.ndjson"), 0o600)
        mkdir(stand.path("d.ndjson"), 0o700)
        symlink("nowhere", stand.path("l.ndjson"))
        stand.add("garbage", to: "places")
        stand.add("1\n")
        stand.step()
        #expect(stand.sink.taken == ["1"])
        let places = stand.path("places")
        #expect(
            stand.said.withLock { $0 } == [
                "\(places): is damaged: places lost, and files without a place are read from their beginning;"
                    + " it is kept as \(places).damaged-7"
            ])
        rmdir(stand.path("d.ndjson"))
    }

    // MARK: - Draining

    @Test("a file is removed after all of it was answered and nobody wrote to it for a time, and not before")
    func drained() {
        let stand = Stand(drains: true)
        stand.sink.state.withLock { $0.holds = true }
        stand.add("1\n")
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        #expect(stand.names.contains("a.ndjson"))
        stand.sink.answer(.stored(invalid: []))
        stand.step()
        #expect(!stand.names.contains("a.ndjson") && stand.sink.taken == ["1"])
    }

    @Test("a file that was written recently stays")
    func writtenLately() {
        let stand = Stand(drains: true)
        stand.add("1\n")
        stand.step()
        stand.advance(.seconds(9))
        stand.add("2\n")
        stand.step()
        stand.advance(.seconds(9))
        stand.step()
        #expect(stand.names.contains("a.ndjson"))
        stand.advance(.seconds(1))
        stand.step()
        #expect(!stand.names.contains("a.ndjson") && stand.sink.taken == ["1", "2"])
    }

    @Test("a file that somebody has open for writing stays, however long it is idle, and its unfinished line waits")
    func heldOpen() {
        let stand = Stand(drains: true)
        let writer = open(stand.path("a.ndjson"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        for text in ["{}\n", "{\"a\":1}"] {
            write(writer, text, text.utf8.count)
            for _ in 0..<5 {
                stand.step()
                stand.advance(.seconds(100))
            }
        }
        #expect(stand.names.contains("a.ndjson") && stand.sink.taken == ["{}"])
        write(writer, "\n{\"b\":1}", 8)
        close(writer)
        stand.step()
        #expect(stand.sink.taken == ["{}", "{\"a\":1}"])
        // No writer is left that could end the last line.
        stand.advance(.seconds(100))
        stand.step()
        stand.advance(.seconds(100))
        stand.step()
        #expect(stand.sink.taken == ["{}", "{\"a\":1}", "{\"b\":1}"] && !stand.names.contains("a.ndjson"))
        #expect(stand.said.withLock { $0 } == [])
    }

    @Test("a file with lines that are not events stays, and is not read twice, even after a restart")
    func invalid() {
        let stand = Stand(drains: true)
        stand.sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "no")]) }
        stand.add("1\nno\n")
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        stand.restart()
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        #expect(stand.names.contains("a.ndjson") && stand.sink.taken == ["1", "no"])
        let words = "logs: \(stand.path("a.ndjson")): stays, because it contains lines that are not events: 1"
        #expect(stand.said.withLock { $0 } == [words, words])
    }

    @Test("the target of a link is not removed")
    func link() {
        let stand = Stand(drains: true)
        stand.add("1\n", to: "other")
        symlink(stand.path("other"), stand.path("a.ndjson"))
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        #expect(stand.names.contains("other") && stand.sink.taken == [])
    }

    @Test("if there are more files than may be open, all are read, and closed ones are read further when they grow")
    func many() {
        let stand = Stand()
        let count = FileFollower.mostOpen + 20
        for number in 0..<count { stand.add("\(number)\n", to: "\(number).ndjson") }
        stand.step()
        #expect(stand.sink.taken.count == FileFollower.mostOpen)
        stand.advance(.seconds(11))
        stand.step()
        #expect(Set(stand.sink.taken).count == count && stand.sink.taken.count == count)
        for number in 0..<count { stand.add("again\n", to: "\(number).ndjson") }
        for _ in 0..<3 {
            stand.step()
            stand.advance(.seconds(11))
        }
        #expect(stand.sink.taken.count == 2 * count)
    }

    @Test("if there is nothing to do, the next step is due at the next search for files")
    func idle() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        stand.advance(.seconds(1))
        stand.step()
        #expect(stand.follower.step(names: false) == stand.now + stand.plan.poll)
    }
}

@Suite("A source of files on its thread")
struct FileSourceTests {
    @Test("it notices written lines, follows them, and writes its places when it is stopped")
    func runs() throws {
        let stand = Stand()
        stand.plan.poll = .seconds(3600)
        let sink = Sink()
        func make() throws -> FileSource {
            try FileSource(
                name: "logs", plan: stand.plan, source: 0, lineLimit: 1000, places: stand.path("places"), sink: sink, say: { _ in })
        }
        let first = try make()
        first.start()
        stand.add("1\n")
        sink.state.wait(while: { $0.taken.count < 1 })
        stand.add("2\n")
        stand.add("3\n", to: "b.ndjson")
        sink.state.wait(while: { $0.taken.count < 3 })
        first.stop()
        stand.add("4\n")
        let second = try make()
        second.start()
        sink.state.wait(while: { $0.taken.count < 4 })
        second.stop()
        #expect(sink.taken.sorted() == ["1", "2", "3", "4"])
    }
}
