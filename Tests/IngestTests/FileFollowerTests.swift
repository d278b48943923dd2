// Files that other processes write, on a clock that the test holds: each step is taken by hand.

import Events
import Glibc
import Plans
import Platform
import Testing

@testable import Ingest

@Suite("Files that other processes write")
struct FileFollowerTests {
    @Test("what is there is read, what is added follows, and a line that has not ended waits for its end")
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

    @Test("after a kill it goes on behind what was answered: what was not is read again, and nothing twice that was")
    func restart() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        stand.sink.state.withLock { $0.holds = true }
        stand.add("2\n")
        stand.advance(.seconds(1))
        stand.step()
        #expect(stand.sink.taken == ["1", "2"])
        // The answer to the second never came.
        stand.restart()
        stand.sink.state.withLock { $0.holds = false }
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "2"])
        stand.follower.finish()
        stand.restart()
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "2"])
    }

    @Test("nothing more of a file is read while an answer is outstanding, so that its order holds")
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

    @Test("a sink without room is asked again, and loses nothing")
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

    @Test("rotation by a new name: the old file is read to its end, the new one from its beginning")
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
        // Let go once nobody writes it any more.
        stand.advance(.seconds(11))
        stand.step()
        stand.add("5\n", to: "a.ndjson.1")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "4"])
    }

    @Test("a file that loses its name while somebody still writes it is not let go")
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

    @Test("rotation by copying and cutting off: the file is read from its beginning again, also when it has outgrown its old size")
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

    @Test("a new file that got the number of an old one is read from its beginning")
    func reused() throws {
        let stand = Stand()
        stand.add("1\n2\n")
        stand.step()
        stand.follower.finish()
        // The same number, other bytes: what a file system does with a number that is free.
        let number = open(stand.path("a.ndjson"), O_WRONLY | O_CLOEXEC)
        pwrite(number, "8\n9\n", 4, 0)
        close(number)
        stand.restart()
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "8", "9"])
    }

    @Test("blank lines are left out, and one over the limit is passed over and told")
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

    @Test("a file that cannot be opened is told once, and read when it can be", .disabled(if: geteuid() == 0, "root may open everything"))
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

    @Test("what is no file is left alone, and so is a broken memory of places")
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
                "\(places): is damaged: places are lost, whose files are read from their beginning; it is kept as \(places).damaged-7"
            ])
        rmdir(stand.path("d.ndjson"))
    }

    // MARK: - Draining

    @Test("a file goes when all of it was answered and it was not written for a time, and not before")
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

    @Test("a file that was written a moment ago stays")
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

    @Test("a file that somebody has open for writing stays, however long it is silent, and so does its unfinished line")
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
        // Nobody is left to end the last line.
        stand.advance(.seconds(100))
        stand.step()
        stand.advance(.seconds(100))
        stand.step()
        #expect(stand.sink.taken == ["{}", "{\"a\":1}", "{\"b\":1}"] && !stand.names.contains("a.ndjson"))
        #expect(stand.said.withLock { $0 } == [])
    }

    @Test("a file with lines that are no events stays, and is not read twice, also after a restart")
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
        let words = "logs: \(stand.path("a.ndjson")): stays, since 1 of its lines were no events"
        #expect(stand.said.withLock { $0 } == [words, words])
    }

    @Test("what a link leads to is not removed")
    func link() {
        let stand = Stand(drains: true)
        stand.add("1\n", to: "other")
        symlink(stand.path("other"), stand.path("a.ndjson"))
        stand.step()
        stand.advance(.seconds(60))
        stand.step()
        #expect(stand.names.contains("other") && stand.sink.taken == [])
    }

    @Test("with more files than may be open at once all are read, and those that rest are read on when they grow")
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

    @Test("when nothing is to be done the next step is due only when the names are looked through again")
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
    @Test("it notices what is written, follows it, and writes down how far it came when it is stopped")
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
