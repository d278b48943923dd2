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
        let fixture = FollowerFixture()
        fixture.add("1\n2\n3")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2"])
        fixture.add("3\n4\n")
        fixture.add("5\n", to: "b.ndjson")
        fixture.add("6\n", to: "b.other")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "33", "4", "5"])
        fixture.advance(.seconds(100))
        fixture.step()
        #expect(fixture.sink.taken.count == 5 && fixture.messages.withLock { $0 } == [])
    }

    @Test("after a kill, lines without an answer are read again, and answered lines are not")
    func restart() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        fixture.sink.state.withLock { $0.holds = true }
        fixture.add("2\n")
        fixture.advance(.seconds(1))
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2"])
        // The second line was never answered.
        fixture.restart()
        fixture.sink.state.withLock { $0.holds = false }
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "2"])
        fixture.follower.finish()
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "2"])
    }

    @Test("nothing more of a file is read while an answer is outstanding, so the order is kept")
    func order() {
        let fixture = FollowerFixture()
        fixture.sink.state.withLock { $0.holds = true }
        fixture.add("1\n")
        fixture.step()
        fixture.add("2\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1"])
        fixture.sink.answer(.overloaded(retryAfter: 3))
        fixture.step()
        #expect(fixture.sink.taken == ["1"])
        fixture.advance(.seconds(3))
        fixture.step()
        #expect(fixture.sink.taken == ["1", "1", "2"])
    }

    @Test("lines for a full sink are submitted again, and nothing is lost")
    func full() {
        let fixture = FollowerFixture()
        fixture.sink.state.withLock { $0.isFull = true }
        fixture.add("1\n")
        fixture.step()
        fixture.sink.state.withLock { $0.isFull = false }
        fixture.step()
        #expect(fixture.sink.taken == [])
        fixture.advance(FileFollower.pause)
        fixture.step()
        #expect(fixture.sink.taken == ["1"])
    }

    @Test("rotation by renaming: the old file is read to its end, and the new one from its beginning")
    func renamed() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        fixture.add("2\n")
        rename(fixture.path("a.ndjson"), fixture.path("a.ndjson.1"))
        fixture.add("3\n")
        fixture.step()
        fixture.add("4\n", to: "a.ndjson.1")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3", "4"])
        // The file is closed after the idle time, because nobody writes to it any more.
        fixture.advance(.seconds(11))
        fixture.step()
        fixture.add("5\n", to: "a.ndjson.1")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3", "4"])
    }

    @Test("a file that loses its name while somebody still writes to it is not closed")
    func namelessWritten() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        let writer = open(fixture.path("a.ndjson"), O_WRONLY | O_APPEND | O_CLOEXEC)
        unlink(fixture.path("a.ndjson"))
        fixture.step()
        fixture.advance(.seconds(60))
        fixture.step()
        write(writer, "2\n", 2)
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2"])
        close(writer)
    }

    @Test("rotation by copying and truncating: the file is read from its beginning again, even if it is larger than before")
    func truncated() {
        let fixture = FollowerFixture()
        fixture.add("1\n2\n")
        fixture.step()
        truncate(fixture.path("a.ndjson"), 0)
        fixture.add("3\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3"])
        truncate(fixture.path("a.ndjson"), 0)
        fixture.add("44\n55\n66\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3", "44", "55", "66"])
        #expect(fixture.messages.withLock { $0.count } == 2)
    }

    @Test("a new file that has the inode number of an old one is read from its beginning")
    func reused() throws {
        let fixture = FollowerFixture()
        fixture.add("1\n2\n")
        fixture.step()
        fixture.follower.finish()
        // The number stays the same and the bytes change, as when a file system uses a free number again.
        let number = open(fixture.path("a.ndjson"), O_WRONLY | O_CLOEXEC)
        pwrite(number, "8\n9\n", 4, 0)
        close(number)
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "8", "9"])
    }

    @Test("blank lines are dropped, and a line over the limit is skipped and reported")
    func overlong() {
        let fixture = FollowerFixture()
        let long = String(repeating: "x", count: 2000)
        let longer = String(repeating: "y", count: 3 * FollowedFile.blockSize)
        fixture.add("1\n\n \r\n\(long)\n2\n\(longer)\n3\n\(longer)")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3"])
        #expect(fixture.overlong.withLock { $0 } == [2000, 3 * FollowedFile.blockSize])
        fixture.add("\n4\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3", "4"])
        #expect(fixture.overlong.withLock { $0.count } == 3)
    }

    @Test("an unreadable file is reported once, and read when it can be opened", .disabled(if: geteuid() == 0, "root may open everything"))
    func forbidden() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        chmod(fixture.path("a.ndjson"), 0)
        fixture.step()
        #expect(fixture.messages.withLock { $0 } == ["logs: \(fixture.path("a.ndjson")): cannot be opened: Permission denied"])
        chmod(fixture.path("a.ndjson"), 0o600)
        fixture.step()
        #expect(fixture.sink.taken == ["1"])
    }

    @Test("anything that is not a file is ignored, and a damaged file of places is set aside")
    func others() {
        let fixture = FollowerFixture()
        mkfifo(fixture.path("f.ndjson"), 0o600)
        mkdir(fixture.path("d.ndjson"), 0o700)
        symlink("nowhere", fixture.path("l.ndjson"))
        fixture.add("garbage", to: "places")
        fixture.add("1\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1"])
        let places = fixture.path("places")
        #expect(
            fixture.messages.withLock { $0 } == [
                "\(places): is damaged: places lost, and files without a place are read from their beginning;"
                    + " it is kept as \(places).damaged-7"
            ])
        rmdir(fixture.path("d.ndjson"))
    }

    // MARK: - Draining

    @Test("a file is removed after all of it was answered and nobody wrote to it for a time, and not before")
    func drained() {
        let fixture = FollowerFixture(drains: true)
        fixture.sink.state.withLock { $0.holds = true }
        fixture.add("1\n")
        fixture.step()
        fixture.advance(.seconds(60))
        fixture.step()
        #expect(fixture.names.contains("a.ndjson"))
        fixture.sink.answer(.stored(invalid: []))
        fixture.step()
        #expect(!fixture.names.contains("a.ndjson") && fixture.sink.taken == ["1"])
    }

    @Test("a file that was written recently stays")
    func writtenLately() {
        let fixture = FollowerFixture(drains: true)
        fixture.add("1\n")
        fixture.step()
        fixture.advance(.seconds(9))
        fixture.add("2\n")
        fixture.step()
        fixture.advance(.seconds(9))
        fixture.step()
        #expect(fixture.names.contains("a.ndjson"))
        fixture.advance(.seconds(1))
        fixture.step()
        #expect(!fixture.names.contains("a.ndjson") && fixture.sink.taken == ["1", "2"])
    }

    @Test("a file that somebody has open for writing stays, however long it is idle, and its unfinished line waits")
    func heldOpen() {
        let fixture = FollowerFixture(drains: true)
        let writer = open(fixture.path("a.ndjson"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        for text in ["{}\n", "{\"a\":1}"] {
            write(writer, text, text.utf8.count)
            for _ in 0..<5 {
                fixture.step()
                fixture.advance(.seconds(100))
            }
        }
        #expect(fixture.names.contains("a.ndjson") && fixture.sink.taken == ["{}"])
        write(writer, "\n{\"b\":1}", 8)
        close(writer)
        fixture.step()
        #expect(fixture.sink.taken == ["{}", "{\"a\":1}"])
        // No writer is left that could end the last line.
        fixture.advance(.seconds(100))
        fixture.step()
        fixture.advance(.seconds(100))
        fixture.step()
        #expect(fixture.sink.taken == ["{}", "{\"a\":1}", "{\"b\":1}"] && !fixture.names.contains("a.ndjson"))
        #expect(fixture.messages.withLock { $0 } == [])
    }

    @Test("a file with lines that are not events stays, and is not read twice, even after a restart")
    func invalid() {
        let fixture = FollowerFixture(drains: true)
        fixture.sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "no")]) }
        fixture.add("1\nno\n")
        fixture.step()
        fixture.advance(.seconds(60))
        fixture.step()
        fixture.restart()
        fixture.step()
        fixture.advance(.seconds(60))
        fixture.step()
        #expect(fixture.names.contains("a.ndjson") && fixture.sink.taken == ["1", "no"])
        let words = "logs: \(fixture.path("a.ndjson")): stays, because it contains lines that are not events: 1"
        #expect(fixture.messages.withLock { $0 } == [words, words])
    }

    @Test("the target of a link is not removed")
    func link() {
        let fixture = FollowerFixture(drains: true)
        fixture.add("1\n", to: "other")
        symlink(fixture.path("other"), fixture.path("a.ndjson"))
        fixture.step()
        fixture.advance(.seconds(60))
        fixture.step()
        #expect(fixture.names.contains("other") && fixture.sink.taken == [])
    }

    @Test("if there are more files than may be open, all are read, and closed ones are read further when they grow")
    func many() {
        let fixture = FollowerFixture()
        let count = FileFollower.mostOpen + 20
        for number in 0..<count { fixture.add("\(number)\n", to: "\(number).ndjson") }
        fixture.step()
        #expect(fixture.sink.taken.count == FileFollower.mostOpen)
        fixture.advance(.seconds(11))
        fixture.step()
        #expect(Set(fixture.sink.taken).count == count && fixture.sink.taken.count == count)
        for number in 0..<count { fixture.add("again\n", to: "\(number).ndjson") }
        for _ in 0..<3 {
            fixture.step()
            fixture.advance(.seconds(11))
        }
        #expect(fixture.sink.taken.count == 2 * count)
    }

    @Test("if there is nothing to do, the next step is due at the next search for files")
    func idle() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        fixture.advance(.seconds(1))
        fixture.step()
        #expect(fixture.follower.step(names: false) == fixture.now + fixture.plan.poll)
    }
}

@Suite("A source of files on its thread")
struct FileSourceTests {
    @Test("it notices written lines, follows them, and writes its places when it is stopped")
    func runs() throws {
        let fixture = FollowerFixture()
        fixture.plan.poll = .seconds(3600)
        let sink = Sink()
        func make() throws -> FileSource {
            try FileSource(
                name: "logs", plan: fixture.plan, source: 0, lineLimit: 1000, places: fixture.path("places"), sink: sink, say: { _ in })
        }
        let first = try make()
        first.start()
        fixture.add("1\n")
        sink.state.wait(while: { $0.taken.count < 1 })
        fixture.add("2\n")
        fixture.add("3\n", to: "b.ndjson")
        sink.state.wait(while: { $0.taken.count < 3 })
        first.stop()
        fixture.add("4\n")
        let second = try make()
        second.start()
        sink.state.wait(while: { $0.taken.count < 4 })
        second.stop()
        #expect(sink.taken.sorted() == ["1", "2", "3", "4"])
    }
}
