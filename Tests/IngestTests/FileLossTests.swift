// Tests that nothing of followed files is lost or taken twice: beginnings, ends, renames, rewriting while the router is down.

import Glibc
import Platform
import Testing

@testable import Ingest

@Suite("No loss from followed files")
struct FileLossTests {
    @Test("a renamed file is followed until all of it was taken, however long the sink is busy", arguments: [false, true])
    func renamedBusy(isFull: Bool) {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        fixture.add("2\n")
        fixture.sink.state.withLock { state in
            state.isFull = isFull
            state.holds = !isFull
        }
        rename(fixture.path("a.ndjson"), fixture.path("a.ndjson.1"))
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken == (isFull ? ["1"] : ["1", "2"]))
        fixture.sink.state.withLock { state in
            state.isFull = false
            state.holds = false
        }
        // The taken lines could not be kept.
        fixture.sink.answer(.overloaded(retryAfter: 1))
        fixture.rest()
        #expect(fixture.sink.taken == (isFull ? ["1", "2"] : ["1", "2", "2"]))
        fixture.follower.finish()
    }

    @Test("data that is written to a file without a name at the last moment is read")
    func lastMoment() {
        let fixture = FollowerFixture()
        fixture.add("1\n")
        fixture.step()
        rename(fixture.path("a.ndjson"), fixture.path("a.ndjson.1"))
        fixture.step()
        fixture.advance(.seconds(9))
        fixture.step()
        fixture.add("2\n", to: "a.ndjson.1")
        fixture.advance(.seconds(2))
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2"])
    }

    // MARK: - The beginning

    @Test("a byte order mark invalidates no event: at the beginning, after each kind of rotation, and in a new file")
    func mark() {
        let fixture = FollowerFixture()
        fixture.add("\u{feff}1\n2\n")
        fixture.step()
        fixture.rewrite(Array("\u{feff}3\n".utf8))
        fixture.step()
        rename(fixture.path("a.ndjson"), fixture.path("a.ndjson.1"))
        fixture.add("\u{feff}4\n")
        fixture.step()
        // At any other place it is part of a line.
        fixture.add("\u{feff}5\n")
        fixture.step()
        #expect(fixture.sink.taken == ["1", "2", "3", "4", "\u{feff}5"])
        fixture.follower.finish()
        fixture.restart()
        fixture.add("6\n")
        fixture.step()
        #expect(fixture.sink.taken.last == "6" && fixture.sink.taken.count == 6)
    }

    @Test("a byte order mark may arrive in pieces, and a file that has nothing else is taken")
    func markInPieces() {
        let fixture = FollowerFixture(drains: true)
        for byte in [0xef, 0xbb, 0xbf] as [UInt8] {
            let number = open(fixture.path("a.ndjson"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            write(number, [byte], 1)
            close(number)
            fixture.step()
        }
        fixture.add("{}\n")
        fixture.add("\u{feff}", to: "b.ndjson")
        fixture.add("\u{feff}{\"b\":1}", to: "c.ndjson")
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken == ["{}", "{\"b\":1}"] && fixture.names == ["places"])
    }

    @Test(
        "compressed data is reported once with a remedy, and is neither read nor removed",
        arguments: [([0x1f, 0x8b, 8, 0], "gzip", "zcat"), ([0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat")] as [([UInt8], String, String)],
        [false, true])
    func compressed(form: (magic: [UInt8], name: String, command: String), drains: Bool) {
        let fixture = FollowerFixture(drains: drains)
        fixture.rewrite(form.magic + Array("\n{}\n".utf8))
        fixture.step()
        fixture.rest()
        let path = fixture.path("a.ndjson")
        #expect(
            fixture.reported == [
                "logs: \(path): is compressed with \(form.name), and is not read; to read its contents, run"
                    + " \(form.command) '\(path)' > NAME, with a NAME that matches 'paths'"
            ])
        #expect(fixture.sink.taken == [] && fixture.names.contains("a.ndjson"))
        fixture.rewrite(Array("{}\n".utf8))
        fixture.step()
        #expect(fixture.sink.taken == ["{}"])
    }

    // MARK: - The end

    @Test("with drain the beginning of an event waits for its rest and its file stays, however long nobody has the file open")
    func torn() {
        let fixture = FollowerFixture(drains: true)
        fixture.add("{\"a\":1}\n{\"b\":")
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken == ["{\"a\":1}"] && fixture.names.contains("a.ndjson"))
        #expect(
            fixture.reported == [
                "logs: \(fixture.path("a.ndjson")): stays, because its last line of 5 bytes has no newline and is not a complete event;"
                    + " it is read when the rest of it has arrived"
            ])
        fixture.add("2}\n")
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken == ["{\"a\":1}", "{\"b\":2}"] && !fixture.names.contains("a.ndjson"))
    }

    @Test("with drain a complete event without its newline is taken when nobody writes to the file any more")
    func wholeWithoutNewline() {
        let fixture = FollowerFixture(drains: true)
        fixture.add("{\"a\":{\"b\":\"}\"}}")
        fixture.step()
        #expect(fixture.sink.taken == [])
        fixture.rest()
        #expect(fixture.sink.taken == ["{\"a\":{\"b\":\"}\"}}"] && !fixture.names.contains("a.ndjson") && fixture.reported == [])
    }

    @Test("files with unfinished last lines do not prevent the reading of others, and are read further when they grow")
    func manyUnended() {
        let fixture = FollowerFixture()
        let count = FileFollower.mostOpen + 20
        for number in 0..<count { fixture.add("\(number)", to: "\(number).ndjson") }
        fixture.step()
        fixture.rest()
        for number in 0..<count { fixture.add("\n", to: "\(number).ndjson") }
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken.count == count && Set(fixture.sink.taken).count == count)
    }

    // MARK: - Rewriting

    @Test(
        "a rewritten file with the same beginning is recognized by the bytes before the place, also while the router was down",
        arguments: [false, true])
    func sameBeginning(isAway: Bool) {
        let fixture = FollowerFixture()
        fixture.lineLimit = 5000
        let head = String(repeating: "h", count: 2047) + "\n"
        fixture.add(head + "1\n2\n")
        fixture.step()
        if isAway { fixture.follower.finish() }
        fixture.rewrite(Array((head + "3\n4\n5\n").utf8))
        if isAway { fixture.restart() }
        fixture.step()
        #expect(fixture.sink.taken.dropFirst() == ["1", "2", head.dropLast() + "", "3", "4", "5"])
    }

    @Test("a file that only grew while the router was down is read further at any size", arguments: [1, 1000, 1024, 1500, 2048, 5000])
    func grew(size: Int) {
        let fixture = FollowerFixture()
        fixture.lineLimit = 10_000
        fixture.add(String(repeating: "x", count: size - 1) + "\n1\n")
        fixture.step()
        fixture.follower.finish()
        fixture.add("2\n")
        fixture.restart()
        fixture.step()
        #expect(fixture.sink.taken.suffix(2) == ["1", "2"] && fixture.reported == [])
    }

    // MARK: - Links

    @Test(
        "a link of another user in a folder that all users may write to is not followed, and is reported once",
        .enabled(if: geteuid() == 0, "only root can make a link of another user"))
    func foreignLink() {
        let fixture = FollowerFixture()
        let other = FollowerFixture()
        other.add("secret\n", to: "secret")
        symlink(other.path("secret"), fixture.path("a.ndjson"))
        lchown(fixture.path("a.ndjson"), 65_534, 65_534)
        chmod(fixture.folder, 0o1777)
        fixture.step()
        fixture.rest()
        #expect(fixture.sink.taken == [])
        #expect(
            fixture.reported == [
                "logs: \(fixture.path("a.ndjson")): is a symbolic link of another user (uid 65534) in a folder that every user may write,"
                    + " and is not followed"
            ])
        // Only the owner may write to the folder now, so its links are trusted.
        chmod(fixture.folder, 0o755)
        fixture.step()
        #expect(fixture.sink.taken == ["secret"])
    }
}
