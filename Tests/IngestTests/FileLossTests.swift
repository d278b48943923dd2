// Tests that nothing of followed files is lost or taken twice: beginnings, ends, renames, rewriting while the router is down.

import Glibc
import Platform
import Testing

@testable import Ingest

@Suite("No loss from followed files")
struct FileLossTests {
    @Test("a renamed file is followed until all of it was taken, however long the sink is busy", arguments: [false, true])
    func renamedBusy(isFull: Bool) {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        stand.add("2\n")
        stand.sink.state.withLock { state in
            state.isFull = isFull
            state.holds = !isFull
        }
        rename(stand.path("a.ndjson"), stand.path("a.ndjson.1"))
        stand.step()
        stand.rest()
        #expect(stand.sink.taken == (isFull ? ["1"] : ["1", "2"]))
        stand.sink.state.withLock { state in
            state.isFull = false
            state.holds = false
        }
        // The taken lines could not be kept.
        stand.sink.answer(.overloaded(retryAfter: 1))
        stand.rest()
        #expect(stand.sink.taken == (isFull ? ["1", "2"] : ["1", "2", "2"]))
        stand.follower.finish()
    }

    @Test("data that is written to a file without a name at the last moment is read")
    func lastMoment() {
        let stand = Stand()
        stand.add("1\n")
        stand.step()
        rename(stand.path("a.ndjson"), stand.path("a.ndjson.1"))
        stand.step()
        stand.advance(.seconds(9))
        stand.step()
        stand.add("2\n", to: "a.ndjson.1")
        stand.advance(.seconds(2))
        stand.step()
        #expect(stand.sink.taken == ["1", "2"])
    }

    // MARK: - The beginning

    @Test("a byte order mark invalidates no event: at the beginning, after each kind of rotation, and in a new file")
    func mark() {
        let stand = Stand()
        stand.add("\u{feff}1\n2\n")
        stand.step()
        stand.rewrite(Array("\u{feff}3\n".utf8))
        stand.step()
        rename(stand.path("a.ndjson"), stand.path("a.ndjson.1"))
        stand.add("\u{feff}4\n")
        stand.step()
        // At any other place it is part of a line.
        stand.add("\u{feff}5\n")
        stand.step()
        #expect(stand.sink.taken == ["1", "2", "3", "4", "\u{feff}5"])
        stand.follower.finish()
        stand.restart()
        stand.add("6\n")
        stand.step()
        #expect(stand.sink.taken.last == "6" && stand.sink.taken.count == 6)
    }

    @Test("a byte order mark may arrive in pieces, and a file that has nothing else is taken")
    func markInPieces() {
        let stand = Stand(drains: true)
        for byte in [0xef, 0xbb, 0xbf] as [UInt8] {
            let number = open(stand.path("a.ndjson"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            write(number, [byte], 1)
            close(number)
            stand.step()
        }
        stand.add("{}\n")
        stand.add("\u{feff}", to: "b.ndjson")
        stand.add("\u{feff}{\"b\":1}", to: "c.ndjson")
        stand.step()
        stand.rest()
        #expect(stand.sink.taken == ["{}", "{\"b\":1}"] && stand.names == ["places"])
    }

    @Test(
        "compressed data is reported once with a remedy, and is neither read nor removed",
        arguments: [([0x1f, 0x8b, 8, 0], "gzip", "zcat"), ([0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat")] as [([UInt8], String, String)],
        [false, true])
    func compressed(form: (magic: [UInt8], name: String, command: String), drains: Bool) {
        let stand = Stand(drains: drains)
        stand.rewrite(form.magic + Array("\n{}\n".utf8))
        stand.step()
        stand.rest()
        let path = stand.path("a.ndjson")
        #expect(
            stand.heard == [
                "logs: \(path): is compressed with \(form.name), and is not read; to read its contents, run"
                    + " \(form.command) '\(path)' > NAME, with a NAME that matches 'paths'"
            ])
        #expect(stand.sink.taken == [] && stand.names.contains("a.ndjson"))
        stand.rewrite(Array("{}\n".utf8))
        stand.step()
        #expect(stand.sink.taken == ["{}"])
    }

    // MARK: - The end

    @Test("with drain the beginning of an event waits for its rest and its file stays, however long nobody has the file open")
    func torn() {
        let stand = Stand(drains: true)
        stand.add("{\"a\":1}\n{\"b\":")
        stand.step()
        stand.rest()
        #expect(stand.sink.taken == ["{\"a\":1}"] && stand.names.contains("a.ndjson"))
        #expect(
            stand.heard == [
                "logs: \(stand.path("a.ndjson")): stays, because its last line of 5 bytes has no newline and is not a complete event;"
                    + " it is read when the rest of it has arrived"
            ])
        stand.add("2}\n")
        stand.step()
        stand.rest()
        #expect(stand.sink.taken == ["{\"a\":1}", "{\"b\":2}"] && !stand.names.contains("a.ndjson"))
    }

    @Test("with drain a complete event without its newline is taken when nobody writes to the file any more")
    func wholeWithoutNewline() {
        let stand = Stand(drains: true)
        stand.add("{\"a\":{\"b\":\"}\"}}")
        stand.step()
        #expect(stand.sink.taken == [])
        stand.rest()
        #expect(stand.sink.taken == ["{\"a\":{\"b\":\"}\"}}"] && !stand.names.contains("a.ndjson") && stand.heard == [])
    }

    @Test("files with unfinished last lines do not prevent the reading of others, and are read further when they grow")
    func manyUnended() {
        let stand = Stand()
        let count = FileFollower.mostOpen + 20
        for number in 0..<count { stand.add("\(number)", to: "\(number).ndjson") }
        stand.step()
        stand.rest()
        for number in 0..<count { stand.add("\n", to: "\(number).ndjson") }
        stand.step()
        stand.rest()
        #expect(stand.sink.taken.count == count && Set(stand.sink.taken).count == count)
    }

    // MARK: - Rewriting

    @Test(
        "a rewritten file with the same beginning is recognized by the bytes before the place, also while the router was down",
        arguments: [false, true])
    func sameBeginning(isAway: Bool) {
        let stand = Stand()
        stand.lineLimit = 5000
        let head = String(repeating: "h", count: 2047) + "\n"
        stand.add(head + "1\n2\n")
        stand.step()
        if isAway { stand.follower.finish() }
        stand.rewrite(Array((head + "3\n4\n5\n").utf8))
        if isAway { stand.restart() }
        stand.step()
        #expect(stand.sink.taken.dropFirst() == ["1", "2", head.dropLast() + "", "3", "4", "5"])
    }

    @Test("a file that only grew while the router was down is read further at any size", arguments: [1, 1000, 1024, 1500, 2048, 5000])
    func grew(size: Int) {
        let stand = Stand()
        stand.lineLimit = 10_000
        stand.add(String(repeating: "x", count: size - 1) + "\n1\n")
        stand.step()
        stand.follower.finish()
        stand.add("2\n")
        stand.restart()
        stand.step()
        #expect(stand.sink.taken.suffix(2) == ["1", "2"] && stand.heard == [])
    }

    // MARK: - Links

    @Test(
        "a link of another user in a folder that all users may write to is not followed, and is reported once",
        .enabled(if: geteuid() == 0, "only root can make a link of another user"))
    func foreignLink() {
        let stand = Stand()
        let other = Stand()
        other.add("secret\n", to: "secret")
        symlink(other.path("secret"), stand.path("a.ndjson"))
        lchown(stand.path("a.ndjson"), 65_534, 65_534)
        chmod(stand.folder, 0o1777)
        stand.step()
        stand.rest()
        #expect(stand.sink.taken == [])
        #expect(
            stand.heard == [
                "logs: \(stand.path("a.ndjson")): is a symbolic link of another user (uid 65534) in a folder that every user may write,"
                    + " and is not followed"
            ])
        // Only the owner may write to the folder now, so its links are trusted.
        chmod(stand.folder, 0o755)
        stand.step()
        #expect(stand.sink.taken == ["secret"])
    }
}
